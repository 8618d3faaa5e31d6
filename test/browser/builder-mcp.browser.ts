/** An agent with an MCP server, in the form: values without a field, and variables by name. */
import assert from 'node:assert/strict';
import { fakeServer } from '../fake/mcp/stage.ts';
import { browserTest } from './browser.ts';
import { contextWith, signIn } from './builder-desk.ts';

const command = [process.execPath, fakeServer, 'honest'];
const mcp = [{ name: 'fake', command, env: { TOKEN: 'FAKE_TOKEN' } }];
const agent = { tools: ['time', 'mcp.fake.echo'], mcp };
const model = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
const policy = { kind: 'priority' };
const brain = { name: 'echo', sensitivity: 'public', policy, models: [model], agent };
const env = { FAKE_TOKEN: 'a-value-of-the-test' };

browserTest(
  'an MCP server in the form',
  contextWith({ brains: [brain] }, env),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view);
    const goTo = (at: string) => {
      const address = `'/builder?view=form&at=${at}'`;
      const push = `history.pushState(null, '', ${address})`;
      return page.evaluate(`${push}; dispatchEvent(new Event('popstate'))`);
    };
    await goTo('brains[0].agent');
    await page.getByText('Also listed:').first().waitFor();
    assert.ok(await page.getByText('mcp.fake.echo').first().isVisible());
    await goTo('brains[0].agent.mcp[0]');
    const name = page.getByLabel('The variable as the program knows it');
    await name.waitFor();
    await page.getByRole('button', { name: 'Remove TOKEN' }).waitFor();
    await name.fill('REGION');
    await page.getByRole('button', { name: 'Add a variable' }).click();
    await page.getByRole('button', { name: 'Remove REGION' }).waitFor();
    await view.assertAccessible();
    await view.assertFits();
  },
);
