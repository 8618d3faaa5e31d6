/**
 * Shapes and numbers of Discord that the fake speaks.
 * Pages: https://discord.com/developers/docs/topics/opcodes-and-status-codes,
 * /resources/user#user-object, /resources/channel#channel-object, /resources/message#message-object
 * and /reference#error-messages (below the same address).
 */

/** A number of 64 bits in decimal digits. /reference#snowflakes */
export type Snowflake = string;

export type User = {
  readonly id: Snowflake;
  readonly username: string;
  readonly discriminator: string;
  readonly global_name: string | null;
  readonly avatar: null;
  readonly bot?: true;
};

export type Channel = {
  readonly id: Snowflake;
  /** 0 text, 1 direct message, 11 public thread. */
  readonly type: 0 | 1 | 11;
  readonly guild_id?: Snowflake;
  readonly parent_id?: Snowflake | null;
  readonly name?: string;
  readonly recipients?: readonly User[];
  readonly last_message_id: Snowflake | null;
  readonly [field: string]: unknown;
};

export type Guild = { readonly id: Snowflake; readonly name: string };

export type Message = {
  readonly id: Snowflake;
  readonly channel_id: Snowflake;
  readonly author: User;
  readonly content: string;
  readonly timestamp: string;
  readonly edited_timestamp: string | null;
  readonly type: number;
  readonly mentions: readonly User[];
  readonly mention_everyone: boolean;
  readonly nonce?: string | number;
  readonly message_reference?: object;
  readonly referenced_message?: Message | null;
  readonly webhook_id?: Snowflake;
  readonly [field: string]: unknown;
};

/** /topics/opcodes-and-status-codes#gateway-gateway-opcodes */
export const op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  presenceUpdate: 3,
  voiceStateUpdate: 4,
  resume: 6,
  reconnect: 7,
  requestGuildMembers: 8,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/** /events/gateway#list-of-intents */
export const intent = {
  guilds: 1 << 0,
  guildMembers: 1 << 1,
  guildPresences: 1 << 8,
  guildMessages: 1 << 9,
  directMessages: 1 << 12,
  messageContent: 1 << 15,
} as const;

/** Every bit of the page; any other is an invalid intent (4013). */
export const intentsKnown = 0x1_ffff | (1 << 20) | (1 << 21) | (1 << 24) | (1 << 25);

/** /topics/opcodes-and-status-codes#json */
export const errors = {
  unauthorized: [401, 0, '401: Unauthorized'],
  notFound: [404, 0, '404: Not Found'],
  unknownChannel: [404, 10_003, 'Unknown Channel'],
  unknownMessage: [404, 10_008, 'Unknown Message'],
  unknownUser: [404, 10_013, 'Unknown User'],
  unknownApplication: [404, 10_002, 'Unknown Application'],
  unknownCommand: [404, 10_063, 'Unknown application command'],
  tooManyCommands: [400, 30_032, 'Maximum number of application commands reached (100)'],
  unknownWebhook: [404, 10_015, 'Unknown Webhook'],
  invalidWebhookToken: [401, 50_027, 'Invalid Webhook Token'],
  unknownInteraction: [404, 10_062, 'Unknown interaction'],
  answeredInteraction: [400, 40_060, 'Interaction has already been acknowledged.'],
  missingAccess: [403, 50_001, 'Missing Access'],
  notOurs: [403, 50_005, 'Cannot edit a message authored by another user'],
  emptyMessage: [400, 50_006, 'Cannot send an empty message'],
  cannotSendToUser: [403, 50_007, 'Cannot send messages to this user'],
  cannotActInDirect: [403, 50_003, 'Cannot execute action on a DM channel'],
  notOwnMessage: [403, 50_005, 'Cannot edit a message authored by another user'],
  missingPermissions: [403, 50_013, 'Missing Permissions'],
  noHistory: [403, 160_002, 'Cannot reply without permission to read message history'],
  tooLarge: [413, 40_005, 'Request entity too large'],
  invalidJson: [400, 50_109, 'The request body contains invalid JSON.'],
} as const;
export type ErrorName = keyof typeof errors;
