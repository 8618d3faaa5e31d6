/**
 * Bundles the program into dist/, the published form, which also starts fastest. main.js and a few
 * chunks hold all that a service loads before it listens. Each part loaded later is a chunk, and
 * each thread a file. The bundle contains the steps of each schema. The build minifies nothing, so
 * that stack traces stay readable, and drops the comments.
 */
import { globSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown, type InputOptions, type OutputOptions, type Plugin } from 'rolldown';
import { Intake } from './bundled.ts';
import { chunkNames, chunksOf, type Chunks } from './chunks.ts';
import { external } from './external.ts';
import { beginFolder, putFolder } from './pages-stamp.ts';
import type { SqlStep } from '../src/lib/sql-steps.ts';

const root = join(import.meta.dirname, '..');
const dist = process.env['SVC_BUILD_FOLDER'] ?? join(root, 'dist');
/** Replaces dist/ only when the build is complete, since svc may run from dist/ meanwhile. */
const making = beginFolder(dist);
const started = performance.now();
const intake = new Intake(root);

/** Replaces each backend's `steps.ts`, which reads a folder, with the steps that it reads. */
const steps: Plugin = {
  name: 'steps',
  async load(id) {
    if (!/\/src\/ledger\/.+\/steps\.ts$/.test(id)) return null;
    const read = (await import(pathToFileURL(id).href)) as { readonly steps: readonly SqlStep[] };
    return `export const steps = ${JSON.stringify(read.steps)};`;
  },
};
const shared: InputOptions = {
  platform: 'node',
  cwd: root,
  external: [/^node:/, ...external],
  resolve: {
    alias: { undici: join(root, 'scripts', 'undici-agent.js') },
  },
  plugins: [steps],
};
const written: OutputOptions = {
  dir: making,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  minify: false,
  comments: { legal: true, annotation: false, jsdoc: false },
  sourcemap: false,
  plugins: [{ name: 'narrow', renderChunk: narrowed }, intake.plugin],
};

await bundleProgram();
const threads = [
  'ledger/sqlite/write/writer-thread',
  'ledger/sqlite/read/reader-thread',
  'pipeline/attachments/picture/picture-thread',
];
for (const thread of threads) await bundleThread(thread);
intake.write(making);
putFolder(making, dist);

const files = globSync('**/*', { cwd: dist, withFileTypes: true }).filter((one) => one.isFile());
const bytes = files.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`dist: ${files.length} files, ${Math.round(bytes / 1024)} kB, built in ${seconds} s`);

async function bundleProgram(): Promise<void> {
  /** Null until the bundler has seen every module. */
  let chunks: Chunks | null = null;
  await using bundle = await rolldown({
    ...shared,
    input: { main: join(root, 'src', 'main.ts') },
    // Lets chunks import from main.js the modules that it holds.
    preserveEntrySignatures: 'allow-extension',
    plugins: [
      steps,
      {
        name: 'chunks',
        buildEnd() {
          chunks = chunksOf((id) => this.getModuleInfo(id), join(root, 'src'));
        },
      },
    ],
  });
  const groups = chunkNames.map((name, index) => ({
    name,
    priority: chunkNames.length - index,
    test: (id: string) => chunks?.[name].has(id) === true,
  }));
  const codeSplitting = { includeDependenciesRecursively: false, groups };
  await bundle.write({ ...written, codeSplitting });
}

/** Bundles a thread into one file: the program's chunks hold more than it needs. */
async function bundleThread(name: string): Promise<void> {
  const input = { [basename(name)]: join(root, 'src', `${name}.ts`) };
  await using bundle = await rolldown({ ...shared, input });
  await bundle.write({ ...written, codeSplitting: false });
}

/**
 * Escapes characters beyond Latin-1. A single one makes V8 keep the file with two bytes a
 * character, a megabyte of an idle service. The escape means the same except in a raw template.
 */
function narrowed(code: string, { name }: { readonly name: string }): string | null {
  if (!chunkNames.some((other) => other === name)) return null;
  if (/String\.raw`[^`]*[^\0-\xff]/.test(code)) throw new Error(`${name}: a raw template is wide`);
  return code.replaceAll(/[^\0-\xff]/g, (wide) => {
    return `\\u${wide.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
