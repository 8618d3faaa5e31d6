/**
 * Bundles the program into dist/, which is what is published and what starts fastest: main.js,
 * one chunk for each part that loads when it is needed, the storage threads as writer-thread.js and
 * reader-thread.js, and the migrations. Nothing is minified, so that a stack trace can be read.
 */
import { cpSync, existsSync, globSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const dist = process.env['SVC_BUILD_FOLDER'] ?? join(root, 'dist');
const started = performance.now();

const input: Record<string, string> = { main: join(root, 'src', 'main.ts') };
for (const thread of ['write/writer-thread', 'read/reader-thread']) {
  const file = join(root, 'src', 'store', 'sqlite', `${thread}.ts`);
  if (existsSync(file)) input[basename(thread)] = file;
}

rmSync(dist, { recursive: true, force: true });
await using bundle = await rolldown({
  input,
  platform: 'node',
  cwd: root,
  // Discord's libraries stay where npm put them: few load them, and they have their own undici. So
  // do those for a keychain and for the window: they are no JavaScript, or load what is none.
  external: [
    /^node:/,
    /^@discordjs\//,
    /^@napi-rs\/keyring$/,
    /^@webviewjs\/webview$/,
    /^dbus-native$/,
  ],
  resolve: {
    alias: {
      undici: join(root, 'scripts', 'undici-agent.js'),
      'node-fetch': join(root, 'scripts', 'no-fetch.cjs'),
    },
  },
});
await bundle.write({
  dir: dist,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  minify: false,
  sourcemap: false,
});
for (const file of globSync('src/store/**/*.sql', { cwd: root })) {
  cpSync(join(root, file), join(dist, 'migrations', basename(file)));
}

const files = globSync('**/*', { cwd: dist, withFileTypes: true }).filter((one) => one.isFile());
const bytes = files.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`dist: ${files.length} files, ${Math.round(bytes / 1024)} kB, built in ${seconds} s`);
