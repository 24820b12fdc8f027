1700000000.1
ESTAB 0 0 10.0.0.1:5000 10.0.0.2:80
	 cubic rto:204 rtt:50/2 mss:1000 cwnd:10 bytes_acked:100 unacked:5 retrans:0/0 busy:10ms minrtt:48
1700000000.2
ESTAB 0 0 10.0.0.1:5000 10.0.0.2:80
	 cubic rto:204 rtt:50/2 mss:1000 cwnd:14 ssthresh:14 bytes_acked:9000 unacked:5 retrans:0/2 busy:110ms rwnd_limited:5ms(2.1%) minrtt:48
