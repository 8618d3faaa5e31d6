/** Finds the entry of the route table for a path, segment by segment. */
import type { Method, Route } from './route.ts';

/** One path of the table, with a route for each method that it takes. */
export type MatchedPath = {
  readonly routes: ReadonlyMap<Method, Route>;
  /** The parameters of the path, not yet decoded. */
  readonly captured: ReadonlyMap<string, string>;
};

type Pattern = { readonly segments: readonly string[]; readonly routes: Map<Method, Route> };

export class RouteTable {
  readonly routes: readonly Route[];
  readonly #byLength = new Map<number, Pattern[]>();

  /** @throws if two entries are equal, or a path and its parameters do not fit */
  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) this.#add(route);
    for (const patterns of this.#byLength.values()) patterns.sort(writtenFirst);
  }

  #add(route: Route): void {
    const segments = segmentsOf(route.path);
    const named = segments.flatMap((segment) => nameIn(segment) ?? []).sort();
    const declared = Object.entries(route.parameters ?? {})
      .flatMap(([name, { kind }]) => (kind === 'segment' ? [name] : []))
      .sort();
    if (named.join() !== declared.join()) throw new Error(`parameters of ${route.path}`);
    const patterns = this.#byLength.get(segments.length) ?? [];
    this.#byLength.set(segments.length, patterns);
    let pattern = patterns.find((other) => other.segments.join('/') === segments.join('/'));
    if (pattern === undefined) patterns.push((pattern = { segments, routes: new Map() }));
    if (pattern.routes.has(route.method)) throw new Error(`two of ${route.method} ${route.path}`);
    pattern.routes.set(route.method, route);
  }

  /**
   * @param path as it was sent, without the query
   * @param method prefers the first entry that takes it; else the first entry counts
   */
  find(path: string, method?: string): MatchedPath | null {
    const sent = segmentsOf(path);
    let first: MatchedPath | null = null;
    for (const { segments, routes } of this.#byLength.get(sent.length) ?? []) {
      if (!segments.every((segment, at) => fits(segment, sent[at]!))) continue;
      const captured = new Map<string, string>();
      for (const [at, segment] of segments.entries()) {
        const name = nameIn(segment);
        if (name !== null) captured.set(name, sent[at]!);
      }
      first ??= { routes, captured };
      for (const taken of routes.keys()) if (taken === method) return { routes, captured };
    }
    return first;
  }
}

/** For the `Allow` header. Format: RFC 9110, section 10.2.1. */
export function allowedAt({ routes }: MatchedPath): string {
  return [...routes.keys()].map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
}

/** The first segment is the empty one before the leading slash. */
function segmentsOf(path: string): readonly string[] {
  return path.split('/');
}

function nameIn(segment: string): string | null {
  return segment.startsWith('{') ? segment.slice(1, -1) : null;
}

function fits(segment: string, sent: string): boolean {
  return nameIn(segment) === null ? segment === sent : sent !== '';
}

/** At the first segment that differs in kind, the literal segment comes first. */
function writtenFirst(a: Pattern, b: Pattern): number {
  const ranks = a.segments.map((segment, at) => rankOf(segment) - rankOf(b.segments[at]!));
  return ranks.find((rank) => rank !== 0) ?? 0;
}

function rankOf(segment: string): number {
  return nameIn(segment) === null ? 0 : 1;
}
