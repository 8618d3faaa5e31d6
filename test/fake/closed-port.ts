/** A port that no server can have; a port that was free a moment ago may be taken by now. */
export const closedPort = 1;
