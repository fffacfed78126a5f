// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// DCTCP (RFC 8257) as a congestion control in BPF ("struct_ops"), for Linux kernels without DCTCP. The hosts of
// `tailcut lab` use it. `./build` compiles this file to dctcp.bpf.o, which tailcut contains and loads.
//
// Licence. This file was written for tailcut from the RFC, and is under Apache-2.0 like the rest of tailcut. A
// congestion control in BPF calls kernel functions that are available only to programs under the GPL, so Linux
// runs it only if the object declares a licence that is compatible with the GPL. Therefore this file is also
// available under GPL-2.0, at the user's choice, and its object declares "GPL".
//
// Tasks of the kernel: detection of losses, retransmissions, reduction of the window to its new threshold within
// a round trip (RFC 6937), and growth of the window, as in Reno. Tasks of this file: the estimate of the marked
// share, the reduction of the window by this estimate, and the echo of marks.
//
// The types below contain only the fields in use. The loader finds the offset of each field in the running kernel.

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
    // Value of rcv_nxt at the time of the latest ACK.
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

// Constant of the kernel's interface to programs (linux/tcp.h). It never changes.
#define TCP_CA_RECOVERY 3
// The kernel defines it as a macro, so its BTF does not contain it. The value is 4 in all versions so far.
#define TCP_ECN_DEMAND_CWR 4

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_tcp_send_ack)(void *tp, __u32 rcv_nxt) = (void *)116;

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __attribute__((section(".ksyms")));

const char licence[] SEC("license") = "GPL";

// The value 1 in the units of gain and alpha.
#define ONE (1u << 31)
// Bits of the fraction in a window with its fraction: one segment is 1 << SEGMENT_SHIFT.
#define SEGMENT_SHIFT 16
// Minimum window in segments (RFC 5681, 3.1).
#define LEAST_WINDOW 2u

// The loader sets these constants before the kernel verifies the program.
const volatile __u32 gain = ONE / 16;
const volatile __u32 first_alpha = ONE;
// Number of samples that the map can hold. It is 0 in labs: the kernel's verifier then removes the sampling code.
const volatile __u32 most_samples = 0;

// Sample for a test that compares this file with the simulator's DCTCP. The loader uses the same layout. It also
// creates the map, an array: the first element counts the samples, and the other elements contain them.
struct sample {
    __u32 connection;
    // 0: an ACK of new data; 1: a reduction after a mark; 2: a reduction after a loss.
    __u32 kind;
    __u32 alpha;
    // For an ACK: bytes acknowledged, whether it carried ECN-Echo, SND.UNA and SND.NXT.
    __u32 acked;
    __u32 is_marked;
    __u32 una;
    __u32 nxt;
    // For a reduction: segments in flight, then the window before and after it in 1/65,536 of a segment.
    __u32 packets_out;
    __u64 window;
    __u64 kept;
};

struct map {
    int unused;
};
struct map samples SEC(".maps");

// State of a connection. It fits into the 104 bytes that the kernel reserves for it.
struct dctcp {
    // Sender: RFC 8257, 3.3.
    __u32 alpha;
    __u32 window_end;
    __u32 bytes_acked;
    __u32 bytes_marked;
    __u32 prior_una;
    // Fraction of a segment that remains after reductions, in 1/65,536. The kernel's window is a whole number of
    // segments. Without the fraction, each reduction would be up to one segment too large.
    __u32 fraction;
    // Receiver: RFC 8257, 3.2. DCTCP.CE, and the value of rcv_nxt after the latest data.
    __u32 is_marked;
    __u32 prior_rcv_nxt;
    // Number of the connection, only for samples.
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

// Increments a counter, and returns its value before the increment.
static __always_inline __u32 next(__u32 *count)
{
    return __sync_fetch_and_add(count, 1);
}

// Returns a free element for a sample of a connection, or null if sampling is off or the map is full.
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

// RFC 8257, 4.2 and 3.3. The first observation window ends at the start of the connection, so the first ACK
// produces the first estimate.
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

// RFC 8257, 3.3, steps 1 to 8. The kernel calls this before it reacts to the congestion signals of the ACK.
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

// RFC 8257, 3.3, step 9. The kernel calls this at the first mark of a window and when it detects a loss. For a
// loss, it then also reports the kind of loss, and halve() replaces the result of this function.
SEC("struct_ops/ssthresh")
__u32 after_mark(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    struct dctcp *dctcp = state(tp);
    __u64 window = ((__u64)tp->snd_cwnd << SEGMENT_SHIFT) + dctcp->fraction;
    // The product fits into 64 bits: a window has at most 2^30 bytes and so less than 2^25 segments.
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

// RFC 8257, 3.5, and RFC 5681, equation 4: a loss halves the flight size.
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

// The kernel enters this state when duplicate ACKs indicate a loss.
SEC("struct_ops/set_state")
void on_state(__u64 *context)
{
    if ((__u8)context[1] == TCP_CA_RECOVERY)
        halve((struct tcp_sock *)context[0]);
}

// RFC 8257, 3.2: all data that one ACK acknowledges have the same DCTCP.CE. When it changes, one ACK with the old
// state acknowledges the earlier data, and another ACK acknowledges the new data at once with the new state.
static __always_inline void on_data(struct tcp_sock *tp, __u32 is_marked)
{
    struct dctcp *dctcp = state(tp);
    __u8 echo = is_marked ? TCP_ECN_DEMAND_CWR : 0;

    if (dctcp->is_marked != is_marked) {
        __u32 now = value_in_kernel(enum inet_csk_ack_state_t, ICSK_ACK_NOW);

        // The earlier data may wait for the delayed-ACK timer, or for a program that is reading (Linux 6.7 and later).
        // The ACK sent here also advances rcv_wup over the new data. If their ACK then waits for a reading program,
        // only the flag ICSK_ACK_NOW shows that they are not acknowledged yet.
        if ((int)(dctcp->prior_rcv_nxt - tp->rcv_wup) > 0 || tp->inet_conn.icsk_ack.pending & now) {
            tp->ecn_flags = (tp->ecn_flags & ~TCP_ECN_DEMAND_CWR) | (echo ^ TCP_ECN_DEMAND_CWR);
            bpf_tcp_send_ack(tp, dctcp->prior_rcv_nxt);
        }
        tp->inet_conn.icsk_ack.pending |= now;
    }
    dctcp->is_marked = is_marked;
    // rcv_nxt already includes the new data.
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
    // The kernel sends this event when the retransmission timer expires, but only once for the same loss.
    else if (event == value_in_kernel(enum tcp_ca_event, CA_EVENT_LOSS))
        halve(tp);
}

// RFC 8257, 3.4: the window grows as in any TCP.
SEC("struct_ops/cong_avoid")
void grow(__u64 *context)
{
    tcp_reno_cong_avoid((struct sock *)context[0], context[1], context[2]);
}

// The kernel calls this only after a spurious loss. It never undoes a reduction after a mark.
SEC("struct_ops/undo_cwnd")
__u32 undo(__u64 *context)
{
    struct tcp_sock *tp = (struct tcp_sock *)context[0];
    return most(tp->snd_cwnd, tp->prior_cwnd);
}
