/** A port that was open a moment ago may be another server's by now; this one is nobody's. */
export const closedPort = 1;
