ALTER TABLE time_figures ADD COLUMN interrupts_per_io double precision;
