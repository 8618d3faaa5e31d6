/** The preconditions of pages: svc is installed, has a configuration, or runs. */
import type { Stage } from './run-page.ts';

const secret = 'export WEBHOOK_SECRET="$(openssl rand -hex 32)"\n';
const made = `svc init --yes --channel webhook --provider ollama --model llama3.2\n${secret}`;
const running = `${made}svc serve\n`;
const withCompletions = `${made}export COMPLETIONS_TOKEN="$(openssl rand -hex 32)"
jq '.completions = {"token_env": "COMPLETIONS_TOKEN"}' svc.json > new.json && mv new.json svc.json
svc serve
`;
const withOperator = `${made}export ADMIN_TOKEN="$(openssl rand -hex 32)"
jq '.admin = {"token_env": "ADMIN_TOKEN"}' svc.json > new.json && mv new.json svc.json
svc serve
svc receive
`;
const ofTelegram = 'export TELEGRAM_TOKEN=123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0\n';
const onTelegram = `svc init --yes --channel telegram --provider ollama --model llama3.2
${ofTelegram}svc serve
`;
const onServer = `${made}sudo -u postgres psql -q -c 'CREATE ROLE svc LOGIN'
sudo -u postgres createdb --owner=svc --encoding=UTF8 --template=template0 svc
jq '.storage = {"url_env": "DATABASE_URL"}' svc.json > new.json && mv new.json svc.json
export DATABASE_URL=postgres://svc@127.0.0.1/svc
`;

/** The reader has a key, and the MCP server for files: that of the checkout stands for it. */
const withFiles = `export OPENAI_API_KEY=sk-of-the-page
mkdir mcp
ln -s "$(dirname "$(readlink -f "$(command -v svc)")")/node_modules" mcp/node_modules
`;

/** The receiver is gone for two messages of Bob, and accepts the reply to one of Ada. */
const withStories = `${made}export ADMIN_TOKEN="$(openssl rand -hex 32)"
jq '.admin = {"token_env": "ADMIN_TOKEN"}' svc.json > new.json && mv new.json svc.json
svc serve
say() {
  curl -s http://127.0.0.1:8090/webhook -H "Authorization: Bearer $WEBHOOK_SECRET" \\
    -H 'Content-Type: application/json' -d "$1" | jq -r .message_id
}
letters() { svc dead-letters list --json | jq -r ".rows[$1].id"; }
node -e 'require("http").createServer((asked, answer) => {
  asked.resume();
  answer.writeHead(410).end();
}).listen(8091, "127.0.0.1", () => console.log("gone"))' > gone.log &
gone=$!
until grep -q gone gone.log; do sleep 0.02; done
say '{"sender_id": "bob", "text": "Is anybody there?"}'
say '{"sender_id": "bob", "text": "Hello?"}'
until OTHER=$(letters 1) && [ "$OTHER" != null ]; do sleep 0.02; done
LETTER=$(letters 0)
kill $gone
# Until it has ended it holds the port.
wait $gone || true
svc receive
ID=$(say '{"sender_id": "ada", "text": "When do you open?", "conversation_id": "invoice-7"}')
until svc trace $ID | grep -q '^message .*; delivered$'; do sleep 0.02; done
`;

/** A separate test runs the pages that need a server. */
export const stages: Readonly<Record<string, Stage>> = {
  'docs/get-started/webhook.md': { before: running },
  'docs/how-to/add-a-person.md': { before: onTelegram },
  'docs/how-to/back-up-and-restore.md': { before: running },
  'docs/how-to/builder.md': { examples: true },
  'docs/how-to/choose-the-brain.md': { examples: true },
  'docs/how-to/change-the-configuration.md': { before: made },
  'docs/how-to/find-a-message.md': { before: running },
  'docs/how-to/move-to-postgresql.md': { before: `${running}svc send "Hello"\n`, postgres: true },
  'docs/how-to/several-bots.md': { examples: true },
  'docs/how-to/test-in-ci.md': { before: made },
  'docs/how-to/upgrade-and-roll-back.md': { before: running },
  'docs/how-to/use-brains-as-models.md': { before: made },
  'docs/how-to/watch-with-prometheus-and-grafana.md': { before: running },
  'docs/how-it-works/agents.md': { examples: true },
  'docs/how-it-works/postgres.md': { before: `${onServer}svc serve\nend_all\n`, postgres: true },
  'docs/recipes/family-bot.md': {
    before: ofTelegram,
    examples: true,
  },
  'docs/recipes/support-bot.md': { before: `${ofTelegram}${withFiles}`, examples: true },
  'docs/recipes/ollama-context.md': { before: made },
  'docs/reference/command-line.md': { before: withStories, examples: true },
  'docs/reference/completions.md': { before: withCompletions },
  'docs/reference/webhook.md': { before: withOperator },
  'examples/many/README.md': { before: onServer, postgres: true },
};
