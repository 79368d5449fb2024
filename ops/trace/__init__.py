"""`pipeline trace`: where one order is, hop by hop."""
