"""What repair does about a finding."""
