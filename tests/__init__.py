"""The tests: they mirror the packages, and add scenarios, contracts, faults and the browser."""
