/**
 * An outage of each dependency of svc, on the first page of a person who is not signed in. The page
 * names cause and action in red, and links to the details, also when opened during the outage. It
 * is green again after the outage. Nobody reloads the page.
 */
import { suite } from 'node:test';
import type { Page } from 'playwright-core';
import { browserTest, noAnswer, type Stage } from './browser.ts';
import { startOutageStage, type OutageStage } from './outage-stage.ts';

type Outage = {
  readonly name: string;
  begin(stage: OutageStage): Promise<void> | void;
  /**
   * Left out where svc recovers only a minute after the last failure: outage.browser.ts tests that
   * with a clock.
   */
  end?(stage: OutageStage): Promise<void> | void;
  /** Matches the headline. */
  readonly cause: RegExp;
  /** Matches the urgent line. */
  readonly move: RegExp;
  /** The target of its link. */
  readonly page: RegExp;
};

/** Both names that the pages use for it. */
const ollama = 'Ollama|local_runtime';
const telegramName = 'Telegram|messenger_a';
/** Repetitions of a fault: more than the outage of a test can use up. */
const often = 100_000;

const outages: readonly Outage[] = [
  {
    name: 'a model that is not running',
    begin: ({ model }) => model.script({ fail: 'refused' }),
    cause: new RegExp(`(no model answers|get no answer).*(${ollama}).*could not be reached`),
    move: /Ollama is not running: `?ollama serve/,
    page: /view=model/,
  },
  {
    name: 'a model that answers 500',
    begin: ({ model }) => model.script({ fail: '500' }),
    cause: new RegExp(`(no model answers|get no answer).*(${ollama}).*server error`),
    move: /Look into Ollama's log, or start it again/,
    page: /view=model/,
  },
  {
    name: 'a model that answers nothing',
    begin: ({ model }) => model.script({ fail: 'hang' }),
    cause: new RegExp(`(no model answers|get no answer).*(${ollama}).*no answer within`),
    move: /Ollama hangs, or is too slow/,
    page: /view=model/,
  },
  {
    name: 'a receiver that answers 500',
    begin: (stage) => stage.receiverIs(500),
    end: (stage) => stage.receiverIs(200),
    cause: /replies on webhook do not arrive/i,
    move: /receiver's log/,
    page: /view=deliveries/,
  },
  {
    name: 'a receiver that answers nothing',
    begin: (stage) => stage.receiverIs('hang'),
    cause: /replies on webhook do not arrive/i,
    move: /receiver's log/,
    page: /view=deliveries/,
  },
  {
    name: 'a disk that is full',
    begin: ({ disk }) => disk?.is('full'),
    end: ({ disk }) => disk?.is('roomy'),
    cause: /the disk is full/i,
    move: /Make room on that disk/,
    page: /view=config/,
  },
  {
    name: 'Telegram that cannot be reached',
    begin: ({ telegram }) => telegram.close(),
    end: ({ telegram }) => telegram.listen(),
    cause: new RegExp(`(${telegramName}) takes no messages in.*could not be reached`),
    move: /check the way from this machine/i,
    page: /view=messages/,
  },
  {
    name: 'Telegram that answers nothing',
    begin: ({ telegram }) => telegram.fail('*', { kind: 'hang' }, often),
    end: ({ telegram }) => telegram.heal(),
    cause: new RegExp(`(${telegramName}) takes no messages in.*did not answer in time`),
    move: /check the way from this machine/i,
    page: /view=messages/,
  },
  {
    name: 'a token that Telegram refuses',
    begin: ({ telegram }) => telegram.fail('*', { kind: 'refuse', answer: unauthorized }, often),
    async end({ telegram, restart }) {
      telegram.heal();
      await restart();
    },
    cause: new RegExp(`(${telegramName}) failed.*refused the token`),
    move: /BotFather/,
    page: /view=config/,
  },
];

const unauthorized = { ok: false, error_code: 401, description: 'Unauthorized' } as const;

// Most of each test is waiting.
suite('an outage', { concurrency: 4 }, () => {
  for (const outage of outages) {
    const then = outage.end === undefined ? '' : ', then green again';
    browserTest(`${outage.name}: cause and move in red${then}`, startOutageStage, (it) =>
      replay(it, outage),
    );
  }
});

async function replay({ site, open }: Stage<OutageStage>, outage: Outage): Promise<void> {
  if (outage.name.includes('disk') && site.disk === null) return;
  const view = await open();
  const { page } = view;
  // Chromium may log requests that meet no server while svc restarts.
  if (outage.name.includes('token')) view.allowFault(noAnswer);
  await page.goto('/ui');
  await isGreen(page);
  await outage.begin(site);
  await isRed(page, outage);
  await view.assertAccessible();
  await view.picture(`outage ${outage.name}`);
  const late = await open();
  await late.page.goto('/ui');
  await isRed(late.page, outage);
  // The page may also report a reply that was on its way, behind the cause.
  await urgent(late.page, outage).first().getByRole('link', { name: 'Look' }).click();
  await late.page.waitForURL(outage.page);
  await late.context.close();
  if (outage.end === undefined) return;
  await outage.end(site);
  await isGreen(page);
}

const green = /^Working$/;

async function isGreen(page: Page): Promise<void> {
  await page.locator('main h2').filter({ hasText: green }).waitFor();
}

const urgent = (page: Page, { move }: Outage) =>
  page.getByRole('listitem').filter({ hasText: 'Urgent' }).filter({ hasText: move });

async function isRed(page: Page, outage: Outage): Promise<void> {
  const headline = page.locator('main h2').filter({ hasText: outage.cause });
  await headline.first().waitFor();
  await urgent(page, outage).first().waitFor();
}
