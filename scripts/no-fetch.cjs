/**
 * In the place of node-fetch, which grammY loads and svc never calls: each call is given a fetch of
 * its own (bot-api.ts). Bundled, it would bring `punycode`, and with that a warning of Node's at
 * every start.
 */
<<<<<<< HEAD:scripts/no-fetch.js
// oxlint-disable-next-line import/no-default-export -- node-fetch has one
export default function noFetch() {
=======
exports.default = function noFetch() {
>>>>>>> mend-user:scripts/no-fetch.cjs
  throw new Error('grammY was given no fetch');
};
