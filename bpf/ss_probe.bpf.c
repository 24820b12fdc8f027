/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Records every segment that arrives on an open connection of one network namespace, which is every
 * ACK to a sender, and every change of the congestion state. `tcp_probe` fires before the ACK is
 * processed: a row has the state that the previous ACK left.
 *
 * Assumes Linux 5.19 (`tcp_cong_state_set`) and IPv4.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum ss_row_kind { SS_ROW_ACK, SS_ROW_STATE };

/* crates/kernel reads it. */
struct ss_row {
	__u64 now; /* ns, CLOCK_MONOTONIC */
	__u64 bytes_acked;
	__u64 pacing_rate;
	__u32 kind;
	__u32 source; /* own IPv4 address, as on the wire */
	__u32 ca_state;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 prior_cwnd;
	__u32 srtt; /* in eighths of microseconds */
	__u32 min_rtt;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 data_segs_out;
	__u32 segs_in;
	__u32 mss;
	__u32 total_rto; /* all bits: unknown */
	__u32 reserved;
};

/* The namespace, by its cookie; a loader sets it. */
const volatile __u64 ss_namespace SEC(".rodata.config") = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} ss_rows SEC(".maps");

/* Rows that did not fit into the ring buffer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ss_lost SEC(".maps");

static __always_inline int ss_tell(struct sock *sk, __u32 kind, __u32 ca_state)
{
	struct tcp_sock *tp;
	struct ss_row *row;
	__u32 first = 0;
	__u64 *lost;

	if (sk->__sk_common.skc_net.net->net_cookie != ss_namespace)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	row = bpf_ringbuf_reserve(&ss_rows, sizeof(*row), 0);
	if (!row) {
		lost = bpf_map_lookup_elem(&ss_lost, &first);
		if (lost)
			__sync_fetch_and_add(lost, 1);
		return 0;
	}
	row->now = bpf_ktime_get_ns();
	row->bytes_acked = tp->bytes_acked;
	row->pacing_rate = sk->sk_pacing_rate;
	row->kind = kind;
	row->source = sk->__sk_common.skc_rcv_saddr;
	row->ca_state = kind == SS_ROW_STATE ?
				ca_state :
				BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	row->cwnd = tp->snd_cwnd;
	row->ssthresh = tp->snd_ssthresh;
	row->prior_cwnd = tp->prior_cwnd;
	row->srtt = tp->srtt_us;
	row->min_rtt = tp->rtt_min.s[0].v;
	row->packets_out = tp->packets_out;
	row->sacked_out = tp->sacked_out;
	row->lost_out = tp->lost_out;
	row->retrans_out = tp->retrans_out;
	row->total_retrans = tp->total_retrans;
	row->data_segs_out = tp->data_segs_out;
	row->segs_in = tp->segs_in;
	row->mss = tp->mss_cache;
	row->total_rto = bpf_core_field_exists(tp->total_rto) ? tp->total_rto : ~0u;
	row->reserved = 0;
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk, struct sk_buff *skb)
{
	return ss_tell(sk, SS_ROW_ACK, 0);
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(on_state, struct sock *sk, const __u8 ca_state)
{
	return ss_tell(sk, SS_ROW_STATE, ca_state);
}

char _license[] SEC("license") = "Dual MIT/GPL";
