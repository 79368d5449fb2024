"""The fulfillment service: consumes orders, writes each once, and audits what it wrote."""
