import '../kit/theme.css';
import { mount } from '../kit/mount.tsx';
import { SetupPage } from './setup-page.tsx';
import { arrive } from '../kit/arrival.ts';

// Before the first render, so that the code is in no URL and no history entry.
arrive();
mount(<SetupPage />);
