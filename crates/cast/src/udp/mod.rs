//! UDP sockets that send and receive batches of datagrams.
