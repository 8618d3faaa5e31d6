/** What lies already where the file is to be. */
import { lstat } from 'node:fs/promises';
import { inspectConfig } from '../../src/config/inspect.ts';
import { locate, type JsonObject } from '../../src/config/locate.ts';
import type { FileFound } from './state.ts';
import type { WorldOptions } from './world.ts';

/** A link that leads nowhere, and what cannot be read, is there all the same. */
export async function lookAtFile({
  file,
  shown: path,
  env,
}: Pick<WorldOptions, 'file' | 'shown' | 'env'>): Promise<FileFound> {
  if ((await lstat(file).catch(nullIfMissing)) === null) return { kind: 'absent', path };
  const { validation, text } = await inspectConfig(file, env, 'file');
  const there = { kind: 'there', path } as const;
  if (validation.kind === 'invalid') {
    const first = validation.problems.find(({ severity }) => severity === 'error');
    const place = first === undefined || first.path === '' ? '' : `${first.path}: `;
    const problem = `${place}${first?.message ?? 'it has a problem'}.`;
    return { ...there, problem, document: null, models: [], channels: [] };
  }
  const { channels, brains } = validation.config;
  return {
    ...there,
    problem: null,
    document: locate(text).value as JsonObject,
    models: brains.flatMap(({ models }) => models.map(({ modelId }) => modelId)),
    channels: channels.map(({ type }) => type),
  };
}

function nullIfMissing({ code }: NodeJS.ErrnoException): null | undefined {
  return code === 'ENOENT' || code === 'ENOTDIR' ? null : undefined;
}
