import { useState, type ComponentType } from 'react';
import { Button } from '../kit/button.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Frame } from '../kit/frame.tsx';
import { usePlace } from '../kit/place.ts';
import { SignIn } from '../kit/sign-in.tsx';
import { useToken } from '../kit/token.ts';
import { Overview } from './overview.tsx';

type LiveViewEntry = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
};

/** To add a view: write a component, and a line here. The first one is shown when none is named. */
const views: readonly [LiveViewEntry, ...LiveViewEntry[]] = [
  { name: 'overview', title: 'Overview', shows: Overview },
];

export function LiveView() {
  const { view } = usePlace();
  const { name: current, shows: Shown } = views.find(({ name }) => name === view) ?? views[0];
  return (
    <Frame
      title="svc"
      views={views.map(({ name, title }) => ({ name, title, place: { view: name } }))}
      current={current}
      aside={<Operator />}
    >
      <Shown key={current} />
    </Frame>
  );
}

/** Signs in for what needs the bearer: texts, and every change. */
function Operator() {
  const { token, signOut } = useToken();
  const [asking, setAsking] = useState(false);
  if (token !== null) {
    return (
      <Button small onClick={signOut}>
        Sign out
      </Button>
    );
  }
  return (
    <>
      <Button small onClick={() => setAsking(true)}>
        Sign in
      </Button>
      <Dialog open={asking} title="Sign in" onClose={() => setAsking(false)}>
        <SignIn onDone={() => setAsking(false)} />
      </Dialog>
    </>
  );
}
