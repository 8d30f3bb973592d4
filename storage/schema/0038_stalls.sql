-- What the latencies of closed loops hide, beside the p99: of totals only, NULL of all else.
ALTER TABLE phase_figures ADD COLUMN stalled_ratio double precision;
ALTER TABLE phase_figures ADD COLUMN corrected_p99_ns double precision;
