//! State in Redis or Valkey, shared by any number of nodes: the same decisions, made by scripts on the server.

mod invocation;
