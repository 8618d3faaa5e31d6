/** Configs with faults: a case changes one piece of a good file, and « marks the fault. */
import type { ProblemCode } from '../../src/config/problems.ts';

export type Case = {
  readonly title: string;
  /** The whole text; « stands before the place of the problem. */
  readonly text: string;
  readonly code: ProblemCode;
  readonly path: string;
  /** Further problem codes of the same text. */
  readonly also?: readonly ProblemCode[];
};

export const plain = `{
  "channels": [
    { "type": "webhook", "token_env": "HOOK_SECRET",
      "webhook": { "bind": "127.0.0.1:8090", "path": "/in", "outbound_url": "http://a.test/out",
        "mapping": { "text": "message" } } }
  ],
  "brains": [
    { "name": "main", "sensitivity": "private", "dispatch": "fanout",
      "policy": { "kind": "priority", "order": ["local_runtime"] },
      "models": [
        { "provider": "local_runtime", "model_id": "llama3", "locality": "local" }
      ] }
  ],
  "routes": [{ "channel": "webhook", "brain": "main" }],
  "storage": { "path": "svc.db" },
  "session": { "triggers": ["/new"], "daily_at": "04:00", "idle_min": 5, "recall_max": 10 },
  "observability": { "addr": "127.0.0.1:2112" }
}`;

export const agent = `{
  "channels": [
    { "type": "messenger_a", "mode": "polling", "token_env": "BOT_TOKEN",
      "access": { "allow": ["123"], "groups": "off" } }
  ],
  "brains": [
    { "name": "main", "sensitivity": "public", "policy": { "kind": "priority" },
      "models": [{ "provider": "ollama", "model_id": "llama3", "locality": "local" }],
      "agent": {
        "tools": ["time", "read_file", "http_fetch", "webhook_call", "memory_note"],
        "governance": [{ "tool": "http_fetch", "mode": "shadow", "channels": ["telegram"] }],
        "read_file": { "root": "files" },
        "http_fetch": { "allow_hosts": ["a.test", "[::1]:80", "fd00::1", "10.0.0.1:8080"] },
        "webhook_call": { "allow_hosts": ["b.test"], "timeout_seconds": 5 },
        "memory": { "scope": "brain" }
      } }
  ],
  "routes": [{ "channel": "messenger_a", "brain": "main" }],
  "storage": { "path": "svc.db" }
}`;

/** Replaces one piece of a text. The piece must occur exactly once. */
export function change(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`not just once in the text: ${from}`);
  return text.replace(from, () => to);
}

/** Makes cases from a base: pieces of it, each followed by its replacement. */
export function spoil(base: string) {
  return (
    title: string,
    edits: readonly string[],
    code: ProblemCode,
    path: string,
    ...also: readonly ProblemCode[]
  ): Case => {
    let text = base;
    for (let at = 0; at < edits.length; at += 2) text = change(text, edits[at]!, edits[at + 1]!);
    return { title, text, code, path, also };
  };
}

/** Removes the mark from a text. @returns the text, and the mark's line and column */
export function unmark(marked: string): { text: string; line: number; column: number } {
  const at = marked.indexOf('«');
  if (at < 0) throw new Error(`the case has no mark: ${marked}`);
  const before = marked.slice(0, at).split('\n');
  const text = marked.slice(0, at) + marked.slice(at + 1);
  return { text, line: before.length, column: before.at(-1)!.length + 1 };
}
