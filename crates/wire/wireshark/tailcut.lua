-- Dissects tailcut's headers: SCDP, NDP and pFabric over UDP, RANS over TCP or UDP. Layouts:
-- docs/wire/. It finds packets by their first bytes, on any port:
--
--   tshark -X lua_script:tailcut.lua -r capture.pcapng
--   wireshark -X lua_script:tailcut.lua capture.pcapng

local VERSION = 1
local PREFIX = 24
local NO_PATH = 0xffff
local CONDITIONS = { [0] = "whole", [1] = "trimmed", [2] = "returned" }

-- The fields that each packet of NDP, SCDP and pFabric starts with: name, offset, size, type.
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

-- Registers the fields of a protocol: a flat list of all.
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

-- The header's length, if the bytes start with a header of this protocol.
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

-- What became of the payload, by the bytes behind the header.
local function condition_of(buffer, length)
  local condition = buffer(5, 1):bitfield(6, 2)
  if condition == 0 and buffer(12, 4):uint() > 0 and buffer:reported_len() == length then
    condition = 1
  end
  return condition == 0 and "" or " " .. (CONDITIONS[condition] or "?")
end

-- Has `dissect`, which gives how many bytes it took, asked for packets over `carriers`. The field
-- `dissector` of a protocol is not the function: called, it takes all that `dissect` leaves.
local function claim(proto, dissect, carriers)
  proto.dissector = dissect
  for _, carrier in ipairs(carriers) do
    proto:register_heuristic(carrier, function(buffer, pinfo, root)
      return dissect(buffer, pinfo, root) > 0
    end)
  end
end

-- A protocol over UDP: `short` is its name in filters, `describe` what the info column says.
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
ndp.pull = ProtoField.uint64("tailcut_ndp.pull", "Packets asked for")
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
scdp.pull = ProtoField.uint32("tailcut_scdp.pull", "Symbols of the block asked for")
scdp.count = ProtoField.uint32("tailcut_scdp.count", "Symbols pushed, or pulls of all blocks")
scdp.blocks = ProtoField.uint32("tailcut_scdp.blocks", "Blocks, or blocks that are whole")
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
  queued = ProtoField.bool("tailcut_rans.queued", "Only if it waits", 8, nil, 0x02),
  last = ProtoField.bool("tailcut_rans.last", "Last part", 8, nil, 0x01),
  told = ProtoField.bool("tailcut_rans.tells_window", "Tells a window", 8, nil, 0x02),
  priority = ProtoField.uint8("tailcut_rans.priority", "Priority class"),
  copy = ProtoField.uint8("tailcut_rans.copy", "Copy"),
  request = ProtoField.uint32("tailcut_rans.request", "Request"),
  from = ProtoField.uint64("tailcut_rans.from", "First byte"),
  to = ProtoField.uint64("tailcut_rans.to", "One past the last byte"),
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

-- Adds one message to the tree; gives its header's length and what to say of it.
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
