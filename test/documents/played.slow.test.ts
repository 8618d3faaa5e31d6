/** Commands for a container and for the service; shell functions play the programs they call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blocksOf, textOf, type Block } from './blocks.ts';
import { cannotRun, runBlocks } from './run-page.ts';
import { stages } from './stages.ts';

const skip = cannotRun();

/** The blocks of the page with that mark and these words, without the mark. */
function played(
  page: string,
  mark: string,
  words: RegExp,
  inPlace: Readonly<Record<string, string>>,
): readonly Block[] {
  const found = blocksOf(textOf(page)).filter(
    ({ info, text }) => info.includes(mark) && words.test(text),
  );
  assert.ok(found.length > 0, `${page} has such a block`);
  return found.map(({ text, ...block }) => {
    const lines = Object.entries(inPlace).reduce(
      (before, [from, to]) => before.replaceAll(from, to),
      text,
    );
    return { ...block, info: ['sh'], text: lines };
  });
}

/** A container is a run of svc in the folder of its volume; all mounted files must exist. */
const docker = `npm() { [ "$*" = 'run release -- image' ]; }
docker() {
  case $1 in
    load) return ;;
    exec) shift 2; (cd data && "$@"); return ;;
  esac
  while [ "$1" != svc:1.0.0 ]; do
    case $1 in
      -v) [[ $2 != ./* ]] || [ -d "\${2%%:*}" ] || { echo "no folder for $2"; return 1; } ;;
      -e) export "$2" ;;
    esac
    shift
  done
  shift
  mkdir -p data
  if [ "$1" = serve ]; then stands '"listening"' svc "$@"; else svc "$@"; fi
}
chown() { [ "$1" = 10001 ] && [ -s "$2" ]; }
`;

test('the container of the page is set up, and answers', { skip }, async () => {
  const page = 'docs/how-to/install.md';
  const inPlace = {
    ':/data': ':there',
    '/data': '"$HOME"/data',
    '/run/secrets': '"$HOME"/secrets',
    '192.168.1.20': '127.0.0.1',
  };
  const blocks = played(page, 'docker', /./, inPlace);
  const line = 'curl -s http://127.0.0.1:2112/healthz\n';
  await runBlocks(page, [...blocks, { line: 1, info: ['sh'], text: line, shown: null }], {
    before: docker,
  });
});

/** The service is a run of svc in this folder, as the user who runs the test. */
const service = `systemctl() {
  case "$*" in
    'stop svc') end_all ;;
    'start svc') stands '"listening"' svc serve ;;
  esac
}
apt() { :; }
install() {
  local args=" $* "
  [[ $args == *' -o svc -g svc -m '* ]] || { echo "for whom: $args"; return 1; }
  command install $(echo "$args" | sed 's/ -o svc -g svc / /')
}
`;

for (const [page, copy] of [
  ['docs/how-to/back-up-and-restore.md', 'backup.db'],
  ['docs/how-to/upgrade-and-roll-back.md', 'before-the-upgrade.db'],
] as const) {
  test(`what the service had comes back by ${page}`, { skip }, async () => {
    const blocks = played(page, 'systemd', /install -o svc/, { '/var/lib/svc': '"$HOME"' });
    const { before = '' } = stages[page]!;
    const first = `svc send Hello\nsvc backup ${copy}\nsvc send "Hello again"\n`;
    const text = `[ "$(svc messages --json | jq '.rows | length')" = 1 ]\n`;
    const last = { line: 1, info: ['sh'], text, shown: null };
    await runBlocks(page, [...blocks, last], { before: `${service}${before}${first}` });
  });
}
