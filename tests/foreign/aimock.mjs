// @copilotkit/aimock in the place of the local Claude: the main job as fixtures, one a turn.
import { createRequire } from 'node:module';

const { LLMock } = createRequire(process.cwd() + '/')('@copilotkit/aimock');

const OPENING = 'speaker arrived damaged';
const call = (name, input) => ({
  reasoning: `Calling ${name}.`,
  toolCalls: [{ name, arguments: JSON.stringify(input) }],
});
// The reference is known only once the refund was paid: it is read in the last tool result.
const reply = (request) => {
  const result = request.messages.findLast((message) => message.role === 'tool');
  const { reference } = JSON.parse(result.content);
  return { content: `Your refund of ₹2,499.00 is issued, reference ${reference}.` };
};
const turns = [
  call('get_order', { order_id: '4471' }),
  call('ask_customer', { question: 'Could you send a photo?' }),
  call('search_policies', { query: 'damaged electronics photo refund' }),
  call('propose_refund', {
    order_id: '4471',
    amount_rupees: 2499,
    reason: 'damaged',
    explanation: 'Cracked; photo received. Policy damaged-items.',
  }),
  reply,
];

const mock = new LLMock({ port: 0, strict: true });
turns.forEach((turn, index) => {
  const match = {
    turnIndex: index,
    predicate: (request) => JSON.stringify(request.messages).includes(OPENING),
  };
  mock.on(match, turn);
});
await mock.start();
console.log(mock.url);
process.on('SIGTERM', async () => {
  await mock.stop();
  process.exit(0);
});
