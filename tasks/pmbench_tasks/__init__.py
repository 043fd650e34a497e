"""The built-in tasks. They import only the public names of pmbench and register like a stranger's."""
