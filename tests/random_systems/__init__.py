"""Small random systems, drawn from one seed each, and a naive search that judges every engine on them."""
