"""Tools that come with the reference. Each is a plug-in: a module that can be mounted, taken out, and loaded anew."""
