"""The fetcher of a follower: what the released class does with a reply that is late."""
