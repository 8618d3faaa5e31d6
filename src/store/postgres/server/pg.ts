/** The client's package, loaded where a server is used. */
export async function loadPg(): Promise<typeof import('pg')> {
  return (await import('pg')).default as unknown as typeof import('pg');
}
