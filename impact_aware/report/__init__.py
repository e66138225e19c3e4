"""What an analysis, a run or a campaign is shown as: figures, tables, HTML, JSON."""
