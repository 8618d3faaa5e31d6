import '../kit/theme.css';
import { arrive } from '../kit/arrival.ts';
import { mount } from '../kit/mount.tsx';
import { LiveView } from './live-view.tsx';

arrive();
mount(<LiveView />);
