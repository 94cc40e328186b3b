// A small Slack app on Bolt for JavaScript, over Socket Mode: the same one as in slack_apps.py.
import { createRequire } from 'node:module';

const { App, LogLevel } = createRequire(process.cwd() + '/')('@slack/bolt');

const plain = (text) => ({ type: 'plain_text', text });

const app = new App({
  token: process.env.APP_BOT_TOKEN,
  appToken: process.env.APP_APP_TOKEN,
  socketMode: true,
  logLevel: LogLevel.WARN,
  clientOptions: { slackApiUrl: process.env.APP_API_URL },
});

app.event('message', async ({ event, client }) => {
  if (event.subtype || event.thread_ts) return;
  await client.chat.postMessage({
    channel: event.channel,
    thread_ts: event.ts,
    text: 'Whose is it?',
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: 'Whose is it?' } },
      {
        type: 'actions',
        elements: [
          { type: 'button', action_id: 'why', text: plain('Say why') },
          {
            type: 'external_select',
            action_id: 'city',
            placeholder: plain('City'),
            min_query_length: 2,
          },
        ],
      },
    ],
  });
  await client.reactions.add({ channel: event.channel, timestamp: event.ts, name: 'eyes' });
});

app.options('city', async ({ options, ack }) => {
  const found = ['Leeds', 'London', 'York'].filter((each) => each.startsWith(options.value));
  await ack({ options: found.map((each) => ({ text: plain(each), value: each.toLowerCase() })) });
});

app.action('city', async ({ ack, action, body, client }) => {
  await ack();
  const city = action.selected_option.value;
  await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: `In ${city}` });
});

app.action('why', async ({ ack, body, client }) => {
  await ack();
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: 'modal',
      callback_id: 'reason',
      private_metadata: `${body.channel.id} ${body.message.thread_ts}`,
      title: plain('Reason'),
      submit: plain('Send'),
      blocks: [
        {
          type: 'input',
          block_id: 'why',
          label: plain('Why'),
          element: { type: 'plain_text_input', action_id: 'text' },
        },
      ],
    },
  });
});

app.view('reason', async ({ ack, view, client }) => {
  await ack();
  const [channel, thread_ts] = view.private_metadata.split(' ');
  const why = view.state.values.why.text.value;
  await client.chat.postMessage({ channel, thread_ts, text: `Because: ${why}` });
});

await app.start();
process.on('SIGTERM', async () => {
  await app.stop();
  process.exit(0);
});
