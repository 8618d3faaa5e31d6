/** Lengths of time, in milliseconds. A day has 24 hours, whatever clocks do. Pure. */

export const secondMs = 1000;
export const minuteMs = 60_000;
export const fiveMinutesMs = 300_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;
