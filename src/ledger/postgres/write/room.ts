/** How it is found out that the server's disk has room again: by writing what takes some. */
import type { Asked } from './statement.ts';

/** 64 KiB that no compression shortens, so that there is more room than for a word. */
export const roomTaken: Asked = {
  text:
    "INSERT INTO svc.cursor SELECT '', 'room', string_agg(gen_random_uuid()::text, '') " +
    'FROM generate_series(1, 1820) ' +
    'ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value',
  values: [],
};
export const roomGiven: Asked = { text: "DELETE FROM svc.cursor WHERE channel = ''", values: [] };
