import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keychainStates } from '../../domain/keychain-state.ts';
import { faultOf } from './faults.ts';
import { stateOfBusError, stateOfMessage } from './secret-service.ts';
import { reasons } from './wire.ts';

/** Messages of the library on each system. */
const messages = [
  [
    'linux',
    'Platform failure: DBus error: Using X11 for dbus-daemon autolaunch was disabled at compile ' +
      'time, set your DBUS_SESSION_BUS_ADDRESS instead',
    'no_bus',
  ],
  [
    'linux',
    'Platform failure: DBus error: Failed to connect to socket /run/user/1/bus: No such file',
    'no_bus',
  ],
  [
    'linux',
    'Platform failure: DBus error: The name org.freedesktop.secrets was not provided by any ' +
      '.service files',
    'no_provider',
  ],
  [
    'linux',
    "Couldn't access platform storage: Secret Service: unlock prompt was dismissed",
    'locked',
  ],
  ['linux', "Couldn't access platform storage: Secret Service: object locked", 'locked'],
  [
    'linux',
    'Platform failure: DBus error: Did not receive a reply. Possible causes include: the remote ' +
      'application did not send a reply, the message bus security policy blocked the reply, the ' +
      'reply timeout expired, or the network connection was broken.',
    'no_answer',
  ],
  ['linux', 'something that nobody has seen yet', 'unavailable'],
  ['freebsd', "Couldn't access platform storage: SS error: prompt dismissed", 'locked'],
  ['darwin', 'Platform failure: User canceled the operation. (-128)', 'denied'],
  ['darwin', "Couldn't access platform storage: User interaction is not allowed.", 'denied'],
  ['darwin', 'error -25308', 'denied'],
  ['darwin', 'A default keychain could not be found.', 'no_provider'],
  ['darwin', 'something else', 'unavailable'],
  ['win32', 'Platform failure: A specified logon session does not exist. (1312)', 'no_provider'],
  ['win32', 'Access is denied.', 'denied'],
  ['win32', 'something else', 'unavailable'],
] as const;

for (const [platform, message, state] of messages) {
  test(`on ${platform}, "${message.slice(0, 60)}" is ${state}`, () => {
    assert.equal(stateOfMessage(message, platform), state);
  });
}

test('an error of the bus is a state by its name, and none that is unknown is a guess', () => {
  assert.equal(stateOfBusError('org.freedesktop.DBus.Error.ServiceUnknown'), 'no_provider');
  assert.equal(stateOfBusError('org.freedesktop.DBus.Error.Spawn.ChildExited'), 'no_provider');
  assert.equal(stateOfBusError('org.freedesktop.DBus.Error.NoReply'), 'no_answer');
  assert.equal(stateOfBusError('org.freedesktop.DBus.Error.AccessDenied'), 'denied');
  assert.equal(stateOfBusError('org.freedesktop.Secret.Error.IsLocked'), 'locked');
  assert.equal(stateOfBusError('constructor'), 'unavailable');
  assert.equal(stateOfBusError(''), 'unavailable');
});

test('every state has whole sentences of its own, on every system', () => {
  const states = keychainStates.filter((state) => state !== 'ready');
  for (const platform of ['linux', 'darwin', 'win32'] as const) {
    const told = [
      ...states.map((state) => faultOf({ state, reason: null }, platform)),
      ...reasons.map((reason) => faultOf({ state: 'unavailable', reason }, platform)),
    ];
    for (const { message, remedy } of told) {
      assert.match(message, /^[A-Z].*\.$/);
      assert.match(remedy, /^[A-Z].*\.$/);
    }
  }
  assert.equal(new Set(states.map((state) => faultOf({ state, reason: null }).message)).size, 6);
});
