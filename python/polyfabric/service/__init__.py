"""`polyfabric serve`: programs on encrypted data over HTTP, for several tenants; and `RemoteServer`, its client.

`app` routes requests, `access` decides who may send them, `queue` in which order they are executed.
"""
