"""Libraries that are preloaded under programs which know nothing of phicoll (docs/preload.md)."""
