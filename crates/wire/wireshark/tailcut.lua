-- Dissector of tailcut's headers: SCDP (both versions), NDP and pFabric over UDP, RANS over TCP or UDP.
-- `docs/wire/` describes the layouts. The dissector finds packets on any port by their first bytes:
--
--   tshark -X lua_script:tailcut.lua -r capture.pcapng
--   wireshark -X lua_script:tailcut.lua capture.pcapng

local VERSION = 1
local PREFIX = 24
local NO_PATH = 0xffff
local CONDITIONS = { [0] = "whole", [1] = "trimmed", [2] = "returned" }

-- Common fields at the start of each packet of NDP, SCDP and pFabric: name, offset, size, type.
local function prefix_fields(short)
  local name = function(field) return short .. "." .. field end
  return {
    magic = ProtoField.uint8(name("magic"), "Magic", base.HEX),
    version = ProtoField.uint8(name("version"), "Version"),
    length = ProtoField.uint8(name("header_length"), "Header length"),
    condition = ProtoField.uint8(name("condition"), "Condition", base.DEC, CONDITIONS, 0x03),
    trimmable = ProtoField.bool(name("trimmable"), "Trimmable", 8, nil, 0x80),
    path = ProtoField.uint16(name("path"), "Path (65535: none)"),
    flow = ProtoField.uint32(name("flow"), "Flow"),
    payload = ProtoField.uint32(name("payload"), "Payload as sent"),
    rank = ProtoField.uint32(name("rank"), "Rank"),
    priority = ProtoField.uint8(name("priority"), "Priority class"),
  }
end

local function add_prefix(fields, buffer, tree)
  tree:add(fields.magic, buffer(0, 1))
  tree:add(fields.version, buffer(1, 1))
  tree:add(fields.length, buffer(2, 1))
  tree:add(fields.kind, buffer(3, 1))
  for _, flag in ipairs(fields.flags or {}) do
    tree:add(flag, buffer(4, 1))
  end
  tree:add(fields.condition, buffer(5, 1))
  tree:add(fields.trimmable, buffer(5, 1))
  tree:add(fields.path, buffer(6, 2))
  tree:add(fields.flow, buffer(8, 4))
  tree:add(fields.payload, buffer(12, 4))
  tree:add(fields.rank, buffer(16, 4))
  tree:add(fields.priority, buffer(20, 1))
end

-- Registers the fields of a protocol, given as a flat list.
local function register(proto, fields)
  local all = {}
  for name, field in pairs(fields) do
    if name == "flags" then
      for _, flag in ipairs(field) do table.insert(all, flag) end
    else
      table.insert(all, field)
    end
  end
  proto.fields = all
end

-- Returns the header's length if the bytes start with a header of this protocol.
local function header_length(buffer, magic, length_of)
  if buffer:len() < 8 or buffer(0, 1):uint() ~= magic or buffer(1, 1):uint() ~= VERSION then
    return nil
  end
  local length = buffer(2, 1):uint()
  if length ~= length_of(buffer(3, 1):uint(), buffer(4, 1):uint()) or buffer:len() < length then
    return nil
  end
  return length
end

local function path_of(buffer)
  local path = buffer(6, 2):uint()
  return path == NO_PATH and "" or " path " .. path
end

-- Returns the condition of the payload, from the number of bytes after the header.
local function condition_of(buffer, length)
  local condition = buffer(5, 1):bitfield(6, 2)
  if condition == 0 and buffer(12, 4):uint() > 0 and buffer:reported_len() == length then
    condition = 1
  end
  return condition == 0 and "" or " " .. (CONDITIONS[condition] or "?")
end

-- Registers `dissect` for packets over `carriers`. `dissect` returns the number of bytes that it has decoded.
-- The field `dissector` of a protocol cannot be used instead, because it claims the remaining bytes too.
local function claim(proto, dissect, carriers)
  proto.dissector = dissect
  for _, carrier in ipairs(carriers) do
    proto:register_heuristic(carrier, function(buffer, pinfo, root)
      return dissect(buffer, pinfo, root) > 0
    end)
  end
end

-- Creates a protocol over UDP. `short` is its name in filters. `describe` returns the text of the info column.
local function over_udp(short, title, magic, length_of, fields, add, describe)
  local proto = Proto(short, "tailcut " .. title)
  register(proto, fields)
  local function dissect(buffer, pinfo, root)
    local length = header_length(buffer, magic, length_of)
    if not length then return 0 end
    pinfo.cols.protocol = title
    pinfo.cols.info = describe(buffer) .. path_of(buffer) .. condition_of(buffer, length)
    local tree = root:add(proto, buffer(0, length))
    add_prefix(fields, buffer, tree)
    add(fields, buffer, tree)
    if buffer:len() > length then
      Dissector.get("data"):call(buffer(length):tvb(), pinfo, root)
    end
    return buffer:len()
  end
  claim(proto, dissect, { "udp" })
end

-- NDP

local NDP_KINDS = { [0] = "data", [1] = "ACK", [2] = "NACK", [3] = "pull" }
local ndp = prefix_fields("tailcut_ndp")
ndp.kind = ProtoField.uint8("tailcut_ndp.kind", "Kind", base.DEC, NDP_KINDS)
ndp.flags = {
  ProtoField.bool("tailcut_ndp.first_window", "First window (SYN)", 8, nil, 0x01),
  ProtoField.bool("tailcut_ndp.last", "Last packet of the flow", 8, nil, 0x02),
  ProtoField.bool("tailcut_ndp.pinned", "Pinned", 8, nil, 0x04),
}
ndp.answered = ProtoField.uint16("tailcut_ndp.answered_path", "Path of the packet that it answers")
ndp.index = ProtoField.uint64("tailcut_ndp.index", "Packet")
ndp.cumulative = ProtoField.uint64("tailcut_ndp.cumulative", "All packets below have arrived")
ndp.pull = ProtoField.uint64("tailcut_ndp.pull", "Requested packets")
ndp.sent = ProtoField.uint64("tailcut_ndp.sent", "Sent at (ps)")

over_udp("tailcut_ndp", "NDP", 0xe2,
  function(kind) return NDP_KINDS[kind] and PREFIX + 32 end, ndp,
  function(fields, buffer, tree)
    tree:add(fields.answered, buffer(22, 2))
    tree:add(fields.index, buffer(24, 8))
    tree:add(fields.cumulative, buffer(32, 8))
    tree:add(fields.pull, buffer(40, 8))
    tree:add(fields.sent, buffer(48, 8))
  end,
  function(buffer)
    local kind = buffer(3, 1):uint()
    local text = NDP_KINDS[kind] .. " flow " .. buffer(8, 4):uint()
    if kind ~= 3 then text = text .. " packet " .. buffer(24, 8):uint64() end
    if kind ~= 0 then
      text = text .. " below " .. buffer(32, 8):uint64() .. " pulls " .. buffer(40, 8):uint64()
    end
    return text
  end)

-- SCDP

local SCDP_KINDS = { [0] = "symbol", [1] = "pull", [2] = "done" }
local scdp = prefix_fields("tailcut_scdp")
scdp.kind = ProtoField.uint8("tailcut_scdp.kind", "Kind", base.DEC, SCDP_KINDS)
scdp.flags = {
  ProtoField.bool("tailcut_scdp.syn", "SYN", 8, nil, 0x01),
  ProtoField.bool("tailcut_scdp.fin", "FIN", 8, nil, 0x02),
  ProtoField.bool("tailcut_scdp.pinned", "Pinned", 8, nil, 0x04),
}
scdp.block = ProtoField.uint32("tailcut_scdp.block", "Block")
scdp.esi = ProtoField.uint32("tailcut_scdp.esi", "Encoding symbol identifier")
scdp.pull = ProtoField.uint32("tailcut_scdp.pull", "Requested symbols of the block")
scdp.count = ProtoField.uint32("tailcut_scdp.count", "Symbols pushed, or pulls of all blocks")
scdp.blocks = ProtoField.uint32("tailcut_scdp.blocks", "Blocks, or complete blocks")
scdp.object = ProtoField.uint64("tailcut_scdp.length", "Bytes of the object")
scdp.symbol = ProtoField.uint32("tailcut_scdp.symbol", "Bytes of a symbol")
scdp.senders = ProtoField.uint16("tailcut_scdp.senders", "Senders")
scdp.share = ProtoField.uint16("tailcut_scdp.share", "Share")

local function has_syn(flags) return flags % 2 == 1 end

over_udp("tailcut_scdp", "SCDP", 0xe1,
  function(kind, flags)
    if kind == 0 then return has_syn(flags) and PREFIX + 32 or PREFIX + 8 end
    return SCDP_KINDS[kind] and PREFIX + 16
  end, scdp,
  function(fields, buffer, tree)
    tree:add(fields.block, buffer(24, 4))
    if buffer(3, 1):uint() ~= 0 then
      tree:add(fields.pull, buffer(28, 4))
      tree:add(fields.count, buffer(32, 4))
      tree:add(fields.blocks, buffer(36, 4))
      return
    end
    tree:add(fields.esi, buffer(28, 4))
    if has_syn(buffer(4, 1):uint()) then
      tree:add(fields.count, buffer(32, 4))
      tree:add(fields.blocks, buffer(36, 4))
      tree:add(fields.object, buffer(40, 8))
      tree:add(fields.symbol, buffer(48, 4))
      tree:add(fields.senders, buffer(52, 2))
      tree:add(fields.share, buffer(54, 2))
    end
  end,
  function(buffer)
    local kind, flags = buffer(3, 1):uint(), buffer(4, 1)
    local text = SCDP_KINDS[kind] .. " flow " .. buffer(8, 4):uint()
    if flags:bitfield(7, 1) == 1 then text = text .. " SYN" end
    if flags:bitfield(6, 1) == 1 then text = text .. " FIN" end
    if kind ~= 2 then text = text .. " block " .. buffer(24, 4):uint() end
    if kind == 0 then text = text .. " symbol " .. buffer(28, 4):uint() end
    if kind == 1 then text = text .. " pulls " .. buffer(28, 4):uint() end
    return text
  end)

-- SCDP in credit mode: version 2 of its header

local CAST_KINDS = {
  [0] = "symbol", [1] = "pull", [2] = "offer", [3] = "retry", [4] = "status", [5] = "done",
  [6] = "close", [7] = "probe", [8] = "probe ACK", [9] = "proof",
  [10] = "check", [11] = "echo",
}
-- Smallest length in bytes of each kind of packet. Kinds in EXACT always have exactly this length.
local CAST_BYTES = {
  [0] = 32, [1] = 28, [2] = 48, [3] = 44, [4] = 20, [5] = 20, [6] = 16, [7] = 16, [8] = 16, [9] = 44,
  [10] = 40, [11] = 40,
}
local CAST_EXACT = { [3] = true, [4] = true, [5] = true, [6] = true, [8] = true, [9] = true }
-- Flags that each kind of packet may have. An encrypted packet may also have the two highest flags.
local CAST_FLAGS = { [0] = 0x01, [1] = 0x03, [2] = 0x01, [4] = 0x01, [10] = 0x01, [11] = 0x01 }
local SEALED, SALT, TRAILER = 0x80, 16, 20
local cast_proto = Proto("tailcut_cast", "tailcut SCDP in credit mode")
local function cast_field(make, name, text, ...) return make("tailcut_cast." .. name, text, ...) end
local cast = {
  kind = cast_field(ProtoField.uint8, "kind", "Kind", base.DEC, CAST_KINDS, 0x0f),
  sealed = cast_field(ProtoField.bool, "sealed", "Encrypted under a key", 8, nil, SEALED),
  proved = cast_field(ProtoField.bool, "proved", "The sender has proved itself", 8, nil, 0x40),
  share = cast_field(ProtoField.uint16, "share", "Share"),
  session = cast_field(ProtoField.uint64, "session", "Session", base.HEX),
  salt = cast_field(ProtoField.bytes, "salt", "Salt"),
  packet = cast_field(ProtoField.uint32, "packet", "Packet's number, lower half"),
  number = cast_field(ProtoField.uint32, "number", "Used credit"),
  block = cast_field(ProtoField.uint32, "block", "Block"),
  esi = cast_field(ProtoField.uint24, "esi", "Encoding symbol identifier"),
  class = cast_field(ProtoField.uint8, "class", "Priority class"),
  stamp = cast_field(ProtoField.uint32, "stamp", "Sender's clock (100 ns)"),
  trimmed = cast_field(ProtoField.bool, "trimmed", "Trimmed", 8, nil, 0x01),
  probe = cast_field(ProtoField.bool, "probe", "Requests an answer", 8, nil, 0x01),
  fin = cast_field(ProtoField.bool, "fin", "FIN", 8, nil, 0x02),
  granted = cast_field(ProtoField.uint32, "granted", "Credits so far"),
  next = cast_field(ProtoField.uint32, "next", "All credits before are accounted for"),
  whole = cast_field(ProtoField.uint32, "whole", "Complete blocks"),
  lost = cast_field(ProtoField.uint32, "lost", "Symbols lost so far"),
  ahead = cast_field(ProtoField.uint16, "ahead", "Wants of the block so far ahead"),
  symbols = cast_field(ProtoField.uint16, "symbols", "Wanted symbols"),
  object = cast_field(ProtoField.uint64, "length", "Bytes of the object"),
  blocks = cast_field(ProtoField.uint32, "blocks", "Blocks"),
  symbol = cast_field(ProtoField.uint16, "symbol", "Bytes of a symbol"),
  senders = cast_field(ProtoField.uint16, "senders", "Senders"),
  pushed = cast_field(ProtoField.uint16, "pushed", "Symbols pushed"),
  slab = cast_field(ProtoField.uint32, "slab", "Object of the transfer"),
  root = cast_field(ProtoField.uint64, "root", "Hash of the transfer", base.HEX),
  token = cast_field(ProtoField.bytes, "token", "Token"),
  used = cast_field(ProtoField.uint32, "used", "Credits used"),
  asks = cast_field(ProtoField.bool, "asks", "Waits for an answer", 8, nil, 0x01),
  hash = cast_field(ProtoField.uint64, "hash", "Hash of what arrived", base.HEX),
  reason = cast_field(ProtoField.uint16, "reason", "Reason", base.DEC, {
    [1] = "no room now", [2] = "too long", [3] = "not wanted", [4] = "not known", [5] = "too wide",
  }),
  size = cast_field(ProtoField.uint16, "size", "Bytes of the probe"),
  probe_number = cast_field(ProtoField.uint16, "probe_number", "Probe"),
  proof = cast_field(ProtoField.bytes, "proof", "Proof of the key"),
  check_size = cast_field(ProtoField.uint16, "check_size", "Bytes of the check"),
  check_number = cast_field(ProtoField.uint16, "check_number", "Check"),
  traffic_class = cast_field(ProtoField.uint8, "traffic_class", "Traffic class", base.HEX),
  full = cast_field(ProtoField.bool, "full", "The answer has the same length", 8, nil, 0x01),
  group = cast_field(ProtoField.bool, "group", "Sent to a multicast group", 8, nil, 0x01),
  seen_port = cast_field(ProtoField.uint16, "seen_port", "Source port of the check"),
  seen_address = cast_field(ProtoField.ipv6, "seen_address", "Source address of the check"),
  buffer = cast_field(ProtoField.uint32, "buffer", "Bytes of the receive buffer"),
}
register(cast_proto, cast)

local bxor, band, rshift = (bit or bit32).bxor, (bit or bit32).band, (bit or bit32).rshift
local CRC32C = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = band(crc, 1) == 1 and bxor(rshift(crc, 1), 0x82f63b78) or rshift(crc, 1)
  end
  CRC32C[byte] = crc
end

-- Returns whether the checksum of a symbol's header is correct.
local function has_checksum(buffer)
  local crc = 0xffffffff
  for at = 0, 27 do
    local byte = buffer(at, 1):uint()
    if at == 1 then byte = band(byte, 0x7e) end
    crc = bxor(CRC32C[band(bxor(crc, byte), 0xff)], rshift(crc, 8))
  end
  return bxor(crc, 0xffffffff) % 0x100000000 == buffer(28, 4):uint()
end

-- Returns the kind and whether the packet is encrypted, if the bytes are a packet of this version.
local function cast_kind(buffer)
  if buffer:len() < 16 or buffer(0, 1):bitfield(0, 4) ~= 2 then return nil end
  local kind, flags = buffer(0, 1):bitfield(4, 4), buffer(1, 1):uint()
  if not CAST_KINDS[kind] then return nil end
  local is_sealed = flags >= SEALED
  if is_sealed then flags = band(flags, 0x3f) end
  if flags ~= band(flags, CAST_FLAGS[kind] or 0) then return nil end
  local more = is_sealed and kind ~= 0 and SALT + TRAILER or 0
  local least, length = CAST_BYTES[kind] + more, buffer:len()
  if length < least or (CAST_EXACT[kind] and length ~= least) then return nil end
  if kind == 0 and not has_checksum(buffer) then return nil end
  return kind, is_sealed
end

-- Functions that add a packet of each kind to the tree. They return the text of the info column.
local CAST_ADD = {
  [0] = function(buffer, tree)
    tree:add(cast.trimmed, buffer(1, 1))
    tree:add(cast.number, buffer(12, 4))
    tree:add(cast.block, buffer(16, 4))
    tree:add(cast.esi, buffer(20, 3))
    tree:add(cast.class, buffer(23, 1))
    tree:add(cast.stamp, buffer(24, 4))
    local trimmed = buffer(1, 1):bitfield(7, 1) == 1 or buffer:reported_len() == 32
    return " block " .. buffer(16, 4):uint() .. " symbol " .. buffer(20, 3):uint() .. " credit "
      .. buffer(12, 4):uint() .. (trimmed and " trimmed" or "")
  end,
  [1] = function(buffer, tree)
    tree:add(cast.probe, buffer(1, 1))
    tree:add(cast.fin, buffer(1, 1))
    tree:add(cast.granted, buffer(12, 4))
    tree:add(cast.next, buffer(16, 4))
    tree:add(cast.whole, buffer(20, 4))
    tree:add(cast.lost, buffer(24, 4))
    local text = buffer(1, 1):bitfield(7, 1) == 1 and " probe" or ""
    for at = 28, buffer:len() - 4, 4 do
      tree:add(cast.ahead, buffer(at, 2))
      tree:add(cast.symbols, buffer(at + 2, 2))
    end
    return text .. " credits " .. buffer(12, 4):uint() .. " whole " .. buffer(20, 4):uint()
      .. " lost " .. buffer(24, 4):uint()
  end,
  [2] = function(buffer, tree)
    tree:add(cast.object, buffer(12, 8))
    tree:add(cast.blocks, buffer(20, 4))
    tree:add(cast.symbol, buffer(24, 2))
    tree:add(cast.senders, buffer(26, 2))
    tree:add(cast.pushed, buffer(28, 2))
    tree:add(cast.slab, buffer(32, 4))
    tree:add(cast.stamp, buffer(36, 4))
    tree:add(cast.root, buffer(40, 8))
    local has_token = buffer(1, 1):bitfield(7, 1) == 1 and buffer:len() >= 80
    if has_token then tree:add(cast.token, buffer(48, 32)) end
    return " bytes " .. buffer(12, 8):uint64() .. (has_token and " with a token" or "")
  end,
  [3] = function(buffer, tree) tree:add(cast.token, buffer(12, 32)) return "" end,
  [4] = function(buffer, tree)
    tree:add(cast.asks, buffer(1, 1))
    tree:add(cast.used, buffer(12, 4))
    tree:add(cast.stamp, buffer(16, 4))
    return " used " .. buffer(12, 4):uint()
  end,
  [5] = function(buffer, tree) tree:add(cast.hash, buffer(12, 8)) return "" end,
  [6] = function(buffer, tree)
    tree:add(cast.reason, buffer(12, 2))
    return " reason " .. buffer(12, 2):uint()
  end,
  [9] = function(buffer, tree) tree:add(cast.proof, buffer(12, 32)) return "" end,
  [10] = function(buffer, tree)
    tree:add(cast.full, buffer(1, 1))
    tree:add(cast.check_size, buffer(12, 2))
    tree:add(cast.check_number, buffer(14, 2))
    tree:add(cast.traffic_class, buffer(16, 1))
    return " number " .. buffer(14, 2):uint() .. " bytes " .. buffer(12, 2):uint()
  end,
  [11] = function(buffer, tree)
    tree:add(cast.group, buffer(1, 1))
    tree:add(cast.check_number, buffer(12, 2))
    tree:add(cast.seen_port, buffer(14, 2))
    tree:add(cast.seen_address, buffer(16, 16))
    tree:add(cast.buffer, buffer(32, 4))
    tree:add(cast.traffic_class, buffer(36, 1))
    return " number " .. buffer(12, 2):uint()
  end,
}
local function add_probe(buffer, tree)
  tree:add(cast.size, buffer(12, 2))
  tree:add(cast.probe_number, buffer(14, 2))
  return " bytes " .. buffer(12, 2):uint()
end
CAST_ADD[7], CAST_ADD[8] = add_probe, add_probe

local function dissect_cast(buffer, pinfo, root)
  local kind, is_sealed = cast_kind(buffer)
  if not kind then return 0 end
  local length = buffer:len()
  if kind == 0 then length = 32 end
  pinfo.cols.protocol = "SCDP"
  local tree = root:add(cast_proto, buffer(0, length))
  tree:add(cast.kind, buffer(0, 1))
  tree:add(cast.sealed, buffer(1, 1))
  tree:add(cast.share, buffer(2, 2))
  tree:add(cast.session, buffer(4, 8))
  local text = CAST_KINDS[kind] .. " session " .. tostring(buffer(4, 8):bytes()):lower()
  if is_sealed then
    tree:add(cast.proved, buffer(1, 1))
    text = text .. " under a key"
    if kind ~= 0 then tree:add(cast.salt, buffer(12, SALT)) end
    if buffer:len() >= length and buffer:len() > 32 + TRAILER then
      tree:add(cast.packet, buffer(buffer:len() - TRAILER, 4))
    end
  end
  if kind == 0 or not is_sealed then text = text .. CAST_ADD[kind](buffer, tree) end
  pinfo.cols.info = text
  if buffer:len() > length then
    Dissector.get("data"):call(buffer(length):tvb(), pinfo, root)
  end
  return buffer:len()
end

claim(cast_proto, dissect_cast, { "udp" })

-- pFabric

local PFABRIC_KINDS = { [0] = "data", [1] = "ACK", [2] = "probe", [3] = "probe ACK" }
local pfabric = prefix_fields("tailcut_pfabric")
pfabric.kind = ProtoField.uint8("tailcut_pfabric.kind", "Kind", base.DEC, PFABRIC_KINDS)
pfabric.index = ProtoField.uint64("tailcut_pfabric.index", "Packet")
pfabric.packets = ProtoField.uint64("tailcut_pfabric.packets", "Packets of the flow")
pfabric.cumulative = ProtoField.uint64("tailcut_pfabric.cumulative",
  "All packets below have arrived")

over_udp("tailcut_pfabric", "pFabric", 0xe3,
  function(kind) return PFABRIC_KINDS[kind] and PREFIX + 24 end, pfabric,
  function(fields, buffer, tree)
    tree:add(fields.index, buffer(24, 8))
    tree:add(fields.packets, buffer(32, 8))
    tree:add(fields.cumulative, buffer(40, 8))
  end,
  function(buffer)
    local kind = buffer(3, 1):uint()
    local text = PFABRIC_KINDS[kind] .. " flow " .. buffer(8, 4):uint()
    if kind < 2 then text = text .. " packet " .. buffer(24, 8):uint64() end
    if kind % 2 == 1 then text = text .. " below " .. buffer(40, 8):uint64() end
    return text
  end)

-- RANS

local RANS_KINDS = {
  [0] = "ask", [1] = "more", [2] = "cancel", [3] = "reprioritise", [4] = "answer",
}
local rans_proto = Proto("tailcut_rans", "tailcut RANS")
local rans = {
  magic = ProtoField.uint8("tailcut_rans.magic", "Magic", base.HEX),
  version = ProtoField.uint8("tailcut_rans.version", "Version"),
  length = ProtoField.uint8("tailcut_rans.header_length", "Header length"),
  kind = ProtoField.uint8("tailcut_rans.kind", "Kind", base.DEC, RANS_KINDS),
  backwards = ProtoField.bool("tailcut_rans.backwards", "From the last byte", 8, nil, 0x01),
  queued = ProtoField.bool("tailcut_rans.queued", "Only if the copy waits", 8, nil, 0x02),
  last = ProtoField.bool("tailcut_rans.last", "Last part", 8, nil, 0x01),
  told = ProtoField.bool("tailcut_rans.tells_window", "Contains a window", 8, nil, 0x02),
  priority = ProtoField.uint8("tailcut_rans.priority", "Priority class"),
  copy = ProtoField.uint8("tailcut_rans.copy", "Copy"),
  request = ProtoField.uint32("tailcut_rans.request", "Request"),
  from = ProtoField.uint64("tailcut_rans.from", "First byte"),
  to = ProtoField.uint64("tailcut_rans.to", "Offset after the last byte"),
  object = ProtoField.uint64("tailcut_rans.object", "Bytes of the object"),
  body = ProtoField.uint64("tailcut_rans.body", "Bytes of the request that follows"),
  offset = ProtoField.uint64("tailcut_rans.offset", "Bytes of the answer before"),
  bytes = ProtoField.uint64("tailcut_rans.bytes", "Bytes of this part"),
  of = ProtoField.uint64("tailcut_rans.of", "Bytes of the answer"),
  window = ProtoField.uint64("tailcut_rans.window", "Congestion window"),
}
register(rans_proto, rans)

local function rans_length(kind)
  if kind == 0 or kind == 4 then return 44 end
  return RANS_KINDS[kind] and 36
end

-- Adds one message to the tree. Returns its header's length and the text of the info column.
local function add_rans(buffer, root)
  local length = header_length(buffer, 0xe4, rans_length)
  if not length then return nil end
  local kind = buffer(3, 1):uint()
  local tree = root:add(rans_proto, buffer(0, length))
  tree:add(rans.magic, buffer(0, 1))
  tree:add(rans.version, buffer(1, 1))
  tree:add(rans.length, buffer(2, 1))
  tree:add(rans.kind, buffer(3, 1))
  local is_answer = kind == 4
  tree:add(is_answer and rans.last or rans.backwards, buffer(4, 1))
  tree:add(is_answer and rans.told or rans.queued, buffer(4, 1))
  tree:add(rans.priority, buffer(5, 1))
  tree:add(rans.copy, buffer(6, 1))
  tree:add(rans.request, buffer(8, 4))
  local first, second = buffer(12, 8), buffer(20, 8)
  local text = RANS_KINDS[kind] .. " request " .. buffer(8, 4):uint()
    .. " copy " .. buffer(6, 1):uint()
  if is_answer then
    tree:add(rans.offset, first)
    tree:add(rans.bytes, second)
    tree:add(rans.of, buffer(28, 8))
    tree:add(rans.window, buffer(36, 8))
    text = text .. " at " .. first:uint64() .. " bytes " .. second:uint64()
    return length, text, second:uint64():tonumber()
  end
  tree:add(rans.from, first)
  tree:add(rans.to, second)
  tree:add(rans.object, buffer(28, 8))
  if kind < 2 then text = text .. " bytes " .. first:uint64() .. " to " .. second:uint64() end
  if kind ~= 0 then return length, text, 0 end
  tree:add(rans.body, buffer(36, 8))
  return length, text, buffer(36, 8):uint64():tonumber()
end

local function dissect_rans(buffer, pinfo, root)
  local at, said = 0, {}
  while at < buffer:len() do
    local length, text, payload = add_rans(buffer(at):tvb(), root)
    if not length then break end
    table.insert(said, text)
    at = at + length + payload
  end
  if #said == 0 then return 0 end
  pinfo.cols.protocol = "RANS"
  pinfo.cols.info = table.concat(said, "; ")
  return buffer:len()
end

claim(rans_proto, dissect_rans, { "tcp", "udp" })
