"""Files of many formats, read into the same thing: settings that know where they stand."""
