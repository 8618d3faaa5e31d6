/**
 * Builds the pages into web/dist/: the live view for /ui, the builder for /builder, the first run
 * for /setup. Each has its own script and style: svc serves the builder only to a known
 * administrator. Scripts and styles also lie there compressed, the form that svc serves. `--watch
 * <page>` rebuilds one page at every change, without compression.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { build, type InlineConfig } from 'vite';
import { Intake } from './bundled.ts';
import {
  beginFolder,
  forgetPages,
  inputsHash,
  pageNames,
  pagesFolder,
  putPages,
} from './pages-stamp.ts';

const root = join(import.meta.dirname, '..');
const web = join(root, 'web');

const bases = { live: '/ui/', builder: '/builder/', setup: '/setup/' } as const;
type Name = (typeof pageNames)[number];
const intake = new Intake(root);
// Every style begins with rules of this package.
intake.add('tailwindcss');

const [flag, wanted] = process.argv.slice(2);
if (flag === '--watch') {
  forgetPages();
  const watched = pageNames.filter((name) => wanted === undefined || name === wanted);
  for (const name of watched) await build(settingsOf(name, pagesFolder, true));
} else {
  const hash = inputsHash();
  const made = beginFolder(pagesFolder);
  try {
    for (const name of pageNames) {
      await build(settingsOf(name, made, false));
      say(name, compress(join(made, name, 'assets')));
    }
    intake.write(made);
    putPages(made, hash);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function settingsOf(name: Name, folder: string, watched: boolean): InlineConfig {
  return {
    configFile: false,
    root: join(web, name),
    base: bases[name],
    publicDir: false,
    logLevel: 'warn',
    plugins: [react(), tailwind(), intake.plugin],
    build: {
      outDir: join(folder, name),
      emptyOutDir: true,
      // The content security policy refuses data: fonts and scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2022',
      watch: watched ? {} : null,
      chunkSizeWarningLimit: 1_000,
      // On a busy machine the plugins are slow, and `npm ci` would end with a warning.
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
  };
}

/** @returns the size of each file with gzip */
function compress(folder: string): readonly number[] {
  return globSync('*.{js,css,svg}', { cwd: folder }).map((file) => {
    const whole = readFileSync(join(folder, file));
    const zipped = gzipSync(whole, { level: 9 });
    writeFileSync(join(folder, `${file}.br`), brotliCompressSync(whole));
    writeFileSync(join(folder, `${file}.gz`), zipped);
    return zipped.length;
  });
}

function say(name: string, bytes: readonly number[]): void {
  const total = Math.round(bytes.reduce((sum, one) => sum + one, 0) / 1000);
  console.log(`web/dist/${name}: ${bytes.length} scripts and styles, ${total} kB with gzip`);
}
