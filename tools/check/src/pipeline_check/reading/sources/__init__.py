"""Sources in Java, Kotlin, Go and JavaScript: read with their grammars, and never run."""
