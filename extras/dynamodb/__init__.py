"""A dedup store: claims with a lease and a fencing token on DynamoDB."""
