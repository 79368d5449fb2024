"""The landed tables, how far landing has come, and what was lost before it landed."""
