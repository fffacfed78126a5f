// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// DCTCP for Linux kernels that have none: RFC 8257 as a congestion control in BPF ("struct_ops"), for the
// hosts of `tailcut lab`. `./build` makes dctcp.bpf.o of it, which the program carries and loads.
//
// Licence. Written for tailcut from the RFC, and like the rest of tailcut under Apache-2.0. Linux runs a
// congestion control in BPF only where the object says that it is compatible with the GPL, because it calls
// functions of the kernel that are offered under the GPL alone. So this file can be had under GPL-2.0 too,
// as you like, and its object says "GPL".
//
// What is the kernel's: when there was a loss, what is sent again, how a window shrinks to its new
// threshold within a round trip (RFC 6937), and growth, which is that of its Reno. What is here: the
// estimate of how much is marked, the cut that follows from it, and the echo of marks.
//
// Types are declared as far as they are used. The loader looks up where the running kernel has each field.

typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define value_in_kernel(enumeration, value) \
    __builtin_preserve_enum_value(*(enumeration *)value, 1 /* its value */)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock;

struct inet_connection_sock {
    struct {
        __u8 pending;
    } icsk_ack;
    __u64 icsk_ca_priv[13];
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u32 snd_una;
    __u32 snd_nxt;
    __u32 snd_cwnd;
    __u32 snd_ssthresh;
    __u32 prior_cwnd;
    __u32 packets_out;
    __u32 rcv_nxt;
    // What rcv_nxt was when the latest ACK left.
    __u32 rcv_wup;
    __u8 ecn_flags;
};

enum tcp_ca_event {
    CA_EVENT_LOSS = 3,
    CA_EVENT_ECN_NO_CE = 4,
    CA_EVENT_ECN_IS_CE = 5,
};

enum tcp_ca_ack_event_flags {
    CA_ACK_ECE = 4,
};

enum inet_csk_ack_state_t {
    ICSK_ACK_NOW = 16,
};

#pragma clang attribute pop

// A part of the kernel's interface to programs (linux/tcp.h), fixed for ever.
#define TCP_CA_RECOVERY 3
// The kernel has it as a macro, of which a running kernel tells nothing: 4 in all of them so far.
#define TCP_ECN_DEMAND_CWR 4

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_tcp_send_ack)(void *tp, __u32 rcv_nxt) = (void *)116;

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __attribute__((section(".ksyms")));

const char licence[] SEC("license") = "GPL";

// 1 in the units of gain and alpha.
#define ONE (1u << 31)
// A segment in the units of a window with its fraction.
#define SEGMENT_SHIFT 16
// RFC 5681, 3.1: what is left to send with at least.
#define LEAST_WINDOW 2u

// Set by the loader before the program is checked.
const volatile __u32 gain = ONE / 16;
const volatile __u32 first_alpha = ONE;
// How many samples the map holds. 0 in labs: the kernel's checker then removes what takes them.
const volatile __u32 most_samples = 0;

// What a test holds against the simulator's DCTCP. The loader has the same layout, and makes the map: an
// array, whose first element counts the samples that were taken and whose others have them.
struct sample {
    __u32 connection;
    // 0: an ACK of new data; 1: a cut after a mark; 2: a cut after a loss.
    __u32 kind;
    __u32 alpha;
    // Of an ACK: bytes acknowledged, whether it carried ECN-Echo, and what is sent next.
    __u32 acked;
    __u32 is_marked;
    __u32 una;
    __u32 nxt;
    // Of a cut, in 1/65,536 of a segment: the window before, and what is kept.
    __u32 packets_out;
    __u64 window;
    __u64 kept;
};

struct map {
    int unused;
};
struct map samples SEC(".maps");

// The state of a connection, in the kernel's 104 bytes for it.
struct dctcp {
    // Sender: RFC 8257, 3.3.
    __u32 alpha;
    __u32 window_end;
    __u32 bytes_acked;
    __u32 bytes_marked;
    __u32 prior_una;
    // The fraction of a segment that cuts have left, in 1/65,536. The kernel's windows are whole segments;
    // without it every cut would take up to a segment too much.
    __u32 fraction;
    // Receiver: RFC 8257, 3.2. DCTCP.CE, and rcv_nxt after the latest data.
    __u32 is_marked;
    __u32 prior_rcv_nxt;
    // For samples alone.
    __u32 connection;
};

static __always_inline struct dctcp *state(struct tcp_sock *tp)
{
    return (struct dctcp *)tp->inet_conn.icsk_ca_priv;
}

static __always_inline __u32 least(__u32 a, __u32 b)
{
    return a < b ? a : b;
}

static __always_inline __u32 most(__u32 a, __u32 b)
{
    return a > b ? a : b;
}

static __always_inline struct sample *counter(void)
{
    __u32 first = 0;
    return bpf_map_lookup_elem(&samples, &first);
}

// Counts one up, and gives what it was.
static __always_inline __u32 next(__u32 *count)
{
    return __sync_fetch_and_add(count, 1);
}

// Room for a sample of a connection; none where samples are not taken or the map is full.
static __always_inline struct sample *sample(const struct dctcp *dctcp, __u32 kind)
{
    if (most_samples == 0)
        return 0;
    struct sample *first = counter();
    if (!first)
        return 0;
    __u32 place = next(&first->kind) + 1;
    struct sample *taken = bpf_map_lookup_elem(&samples, &place);
    if (taken) {
        taken->connection = dctcp->connection;
        taken->kind = kind;
        taken->alpha = dctcp->alpha;
    }
    return taken;
}

// RFC 8257, 4.2 and 3.3: the first window of observation ends where the connection begins, so that the
// first ACK gives the first estimate.
SEC("struct_ops/init")
void begin(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct dctcp *dctcp = state(tp);

    dctcp->alpha = first_alpha;
    dctcp->window_end = tp->snd_una;
    dctcp->bytes_acked = 0;
    dctcp->bytes_marked = 0;
    dctcp->prior_una = tp->snd_una;
    dctcp->fraction = 0;
    dctcp->is_marked = 0;
    dctcp->prior_rcv_nxt = tp->rcv_nxt;
    if (most_samples > 0) {
        struct sample *first = counter();
        if (first)
            dctcp->connection = next(&first->connection);
    }
}

// RFC 8257, 3.3, steps 1 to 8. The kernel calls it before it answers what the ACK tells of congestion.
SEC("struct_ops/in_ack_event")
void on_ack(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    __u32 flags = context[1];
    struct dctcp *dctcp = state(tp);
    __u32 una = tp->snd_una;
    __u32 acked = una - dctcp->prior_una;
    __u32 is_marked = (flags & value_in_kernel(enum tcp_ca_ack_event_flags, CA_ACK_ECE)) != 0;

    if (acked == 0)
        return;
    dctcp->prior_una = una;
    dctcp->bytes_acked += acked;
    if (is_marked)
        dctcp->bytes_marked += acked;
    if ((int)(una - dctcp->window_end) > 0) {
        __u64 fraction = ((__u64)dctcp->bytes_marked << 31) / dctcp->bytes_acked;
        __u64 alpha = (__u64)dctcp->alpha * (ONE - gain) + fraction * gain;

        dctcp->alpha = (alpha + ONE / 2) >> 31;
        dctcp->window_end = tp->snd_nxt;
        dctcp->bytes_acked = 0;
        dctcp->bytes_marked = 0;
    }

    struct sample *taken = sample(dctcp, 0);
    if (taken) {
        taken->acked = acked;
        taken->is_marked = is_marked;
        taken->una = una;
        taken->nxt = tp->snd_nxt;
    }
}

// RFC 8257, 3.3, step 9. The kernel asks at the first mark of a window, and when it notices a loss; then it
// also says which loss, and halve() has the last word.
SEC("struct_ops/ssthresh")
__u32 after_mark(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct dctcp *dctcp = state(tp);
    __u64 window = ((__u64)tp->snd_cwnd << SEGMENT_SHIFT) + dctcp->fraction;
    // A window has less than 2^25 segments, since it has at most 2^30 bytes: the product fits.
    __u64 cut = (window * (dctcp->alpha >> 8)) >> 24;
    __u64 kept = window - cut;

    if (kept < (__u64)LEAST_WINDOW << SEGMENT_SHIFT)
        kept = (__u64)LEAST_WINDOW << SEGMENT_SHIFT;
    dctcp->fraction = kept & ((1u << SEGMENT_SHIFT) - 1);

    struct sample *taken = sample(dctcp, 1);
    if (taken) {
        taken->window = window;
        taken->kept = kept;
    }
    return kept >> SEGMENT_SHIFT;
}

// RFC 8257, 3.5, and RFC 5681, equation 4: a loss halves the flight.
static __always_inline void halve(struct tcp_sock *tp)
{
    struct dctcp *dctcp = state(tp);
    __u32 flight = least(tp->packets_out, tp->snd_cwnd);
    __u32 kept = most(flight / 2, LEAST_WINDOW);

    tp->snd_ssthresh = kept;
    dctcp->fraction = 0;

    struct sample *taken = sample(dctcp, 2);
    if (taken) {
        taken->packets_out = tp->packets_out;
        taken->window = (__u64)tp->snd_cwnd << SEGMENT_SHIFT;
        taken->kept = (__u64)kept << SEGMENT_SHIFT;
    }
}

// A loss that duplicate ACKs show.
SEC("struct_ops/set_state")
void on_state(__u64 *context)
{
    if ((__u8)context[1] == TCP_CA_RECOVERY)
        halve((struct tcp_sock *)context[0]);
}

// RFC 8257, 3.2: an ACK echoes one state of DCTCP.CE. Where it changes, what was held back is acknowledged
// with the old state, and what has just come at once with the new one.
static __always_inline void on_data(struct tcp_sock *tp, __u32 is_marked)
{
    struct dctcp *dctcp = state(tp);
    __u8 echo = is_marked ? TCP_ECN_DEMAND_CWR : 0;

    if (dctcp->is_marked != is_marked) {
        __u32 now = value_in_kernel(enum inet_csk_ack_state_t, ICSK_ACK_NOW);

        // Be it for the timer of delayed ACKs, or because a program is reading (Linux 6.7 and later). The
        // ACK sent here moves rcv_wup past what it acknowledges, up to what has just come. Where that then
        // waits for a reading program, only the ACK that is due at once tells.
        if ((int)(dctcp->prior_rcv_nxt - tp->rcv_wup) > 0 || tp->inet_conn.icsk_ack.pending & now) {
            tp->ecn_flags = (tp->ecn_flags & ~TCP_ECN_DEMAND_CWR) | (echo ^ TCP_ECN_DEMAND_CWR);
            bpf_tcp_send_ack(tp, dctcp->prior_rcv_nxt);
        }
        tp->inet_conn.icsk_ack.pending |= now;
    }
    dctcp->is_marked = is_marked;
    // The kernel has counted what has just come already.
    dctcp->prior_rcv_nxt = tp->rcv_nxt;
    tp->ecn_flags = (tp->ecn_flags & ~TCP_ECN_DEMAND_CWR) | echo;
}

SEC("struct_ops/cwnd_event")
void on_event(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    __u32 event = context[1];

    if (event == value_in_kernel(enum tcp_ca_event, CA_EVENT_ECN_IS_CE))
        on_data(tp, 1);
    else if (event == value_in_kernel(enum tcp_ca_event, CA_EVENT_ECN_NO_CE))
        on_data(tp, 0);
    // The retransmission timer has expired; not again for the same loss.
    else if (event == value_in_kernel(enum tcp_ca_event, CA_EVENT_LOSS))
        halve(tp);
}

// RFC 8257, 3.4: as any TCP.
SEC("struct_ops/cong_avoid")
void grow(__u64 *context)
{
    tcp_reno_cong_avoid((struct sock *)context[0], context[1], context[2]);
}

// The kernel takes a loss back that was none, for any congestion control; a cut after a mark never.
SEC("struct_ops/undo_cwnd")
__u32 undo(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    return most(tp->snd_cwnd, tp->prior_cwnd);
}
