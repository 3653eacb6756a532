"""What was found, in forms for others: tables, data, test reports, badges."""
