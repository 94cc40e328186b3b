"""Everyone else in the sample shop, made up by a seeded generator: nobody real.

Names are drawn from common ones and none is a given name of the six named customers. Phone
numbers begin with 555, which no Indian mobile number does; e-mail addresses end in example.org.
"""

from random import Random

from storage.shop.sample.sheet import CARD, CASH_ON_DELIVERY, UPI, Item, Sheet

CUSTOMERS = 66
_ORDERS_EACH = (3, 5)
_FIRST_ORDER = 20_001

_GIVEN_NAMES = (
    "Aarav Aditi Amit Ananya Anil Arjun Bhavna Chetan Deepa Dev Divya Esha Gaurav Geeta Harish"
    " Isha Jatin Kabir Kavya Kiran Leela Manish Maya Mohan Naveen Neha Nikhil Pallavi Pooja"
    " Pranav Priya Rahul Rekha Ritu Rohan Sahil Sana Sanjay Shreya Sneha Suresh Tara Tarun Uma"
    " Varun Vidya Yash Zoya"
)
_FAMILY_NAMES = (
    "Agarwal Banerjee Bhatt Chopra Das Desai Dutta Fernandes Ghosh Gupta Hegde Jain Joshi Kapoor"
    " Khan Kulkarni Kumar Mehta Menon Mishra Mukherjee Naidu Pandey Patel Pillai Reddy Saxena"
    " Sharma Singh Verma"
)

_CATALOGUE = tuple(
    Item(name=name, category=category, price_paise=rupees * 100)
    for name, category, rupees in (
        ("Wireless mouse", "electronics", 799),
        ("Power bank", "electronics", 1_499),
        ("Smart watch", "electronics", 3_999),
        ("Tablet", "electronics", 18_499),
        ("Desk fan", "electronics", 2_199),
        ("Cotton kurta", "clothing", 1_199),
        ("Denim jacket", "clothing", 2_499),
        ("Silk dupatta", "clothing", 899),
        ("Sports T-shirt", "clothing", 599),
        ("Leather sandals", "footwear", 1_799),
        ("Sneakers", "footwear", 2_799),
        ("Backpack", "accessories", 1_599),
        ("Sunglasses", "accessories", 1_299),
        ("Wallet", "accessories", 749),
        ("Pressure cooker", "home", 2_349),
        ("Bed sheet set", "home", 1_099),
        ("Steel bottle", "home", 449),
        ("Wall clock", "home", 649),
        ("Face cream", "personal care", 379),
        ("Hair oil", "personal care", 249),
        ("Electric razor", "personal care", 1_899),
        ("Cook book", "books", 549),
        ("Detective novel", "books", 349),
        ("Fountain pen", "stationery", 699),
        ("Water colours", "stationery", 429),
        ("Building blocks", "toys", 1_249),
        ("Yoga mat", "sports", 999),
        ("Badminton racket", "sports", 1_449),
    )
)

_PAYMENT_METHODS = (UPI, UPI, CARD, CARD, CASH_ON_DELIVERY)
_STATUSES = ("delivered",) * 7 + ("shipped", "placed", "cancelled")
_REASONS = ("damaged", "wrong_item", "not_delivered", "changed_mind")


def write_others(sheet: Sheet, random: Random) -> None:
    families = _FAMILY_NAMES.split()
    names = [(given, family) for given in _GIVEN_NAMES.split() for family in families]
    order_number = _FIRST_ORDER
    for number, (given, family) in enumerate(random.sample(names, CUSTOMERS), start=1):
        customer_id = f"cust_{number:04d}"
        sheet.customer(
            customer_id,
            f"{given} {family}",
            email=f"{given}.{family}{number}@example.org".lower(),
            phone=f"+91 555{random.randint(10, 99)} {random.randint(20_000, 29_999)}",
        )
        for _ in range(random.randint(*_ORDERS_EACH)):
            _write_order(sheet, random, str(order_number), customer_id)
            order_number += 1


def _write_order(sheet: Sheet, random: Random, order_id: str, customer_id: str) -> None:
    status = random.choice(_STATUSES)
    # A delivered order is at least 5 days old, one under way at most 4.
    placed = random.randint(5, 180) if status in ("delivered", "cancelled") else 4
    items = [
        Item(
            name=item.name,
            category=item.category,
            price_paise=item.price_paise,
            quantity=random.choice((1, 1, 1, 2)),
        )
        for item in random.sample(_CATALOGUE, random.choice((1, 1, 2, 3)))
    ]
    delivered = max(placed - random.randint(3, 6), 0) if status == "delivered" else None
    paid = sheet.order(
        order_id,
        customer_id,
        *items,
        status=status,
        payment_method=random.choice(_PAYMENT_METHODS),
        placed=placed,
        promised=placed - 5,
        shipped=placed - 2 if status in ("shipped", "delivered") else None,
        delivered=delivered,
        tracking=_TRACKING[status],
    )
    if paid == 0:
        return
    if status == "cancelled":
        sheet.refund(order_id, customer_id, paid, reason="cancelled", days=placed - 1)
    elif delivered is not None and random.random() < 0.12:
        first = items[0].price_paise * items[0].quantity
        amount = random.choice((paid, first, first // 5))
        reason = random.choice(_REASONS)
        sheet.refund(order_id, customer_id, amount, reason=reason, days=delivered // 2)


_TRACKING = {
    "placed": None,
    "shipped": "In transit",
    "delivered": "Delivered, handed to the customer",
    "cancelled": None,
}
