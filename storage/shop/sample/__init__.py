"""The sample shop: customers, orders and policies for a machine that has no shop of its own."""
