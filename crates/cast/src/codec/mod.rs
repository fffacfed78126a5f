//! RaptorQ (RFC 6330) over real bytes: repair symbols and decoding of one source block.
