-- Each host of a phase has as many percentiles as the fleet. phase_percentiles reads the fleet's.
CREATE INDEX percentile_figures_of_fleets ON percentile_figures (run_id, phase)
WHERE worker_index IS null;
